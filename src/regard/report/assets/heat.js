// A text with its words shaded. Blue with a solid line speaks for the label, orange with a dotted line against it;
// weight has no side and is green.

const SHADED = 3000;

function heat(found, mode, pieces) {
  const measure = { weight: (w) => w.weight, polarity: (w) => w.polarity ?? 0, contribution: (w) => w.contribution }[mode];
  const top = found.words.reduce((most, w) => Math.max(most, Math.abs(measure(w))), 0) || 1;
  // In a very long text only the strongest words are shaded: a browser is slow with tens of thousands of pieces.
  const strengths = found.words.length > SHADED ? found.words.map((w) => Math.abs(measure(w)) / top).sort((a, b) => b - a) : [];
  const least = Math.max(0.02, strengths[SHADED] ?? 0);
  const box = document.createDocumentFragment();
  let at = 0, room = SHADED;
  for (const w of found.words) {
    const value = measure(w), strength = Math.abs(value) / top;
    if (strength < least || room <= 0) continue;
    room--;
    if (w.from > at) box.append(pieces(found.text.slice(at, w.from)));
    const span = el("span", { class: `h ${mode === "weight" ? "loud" : value > 0 ? "for" : "against"}` }, pieces(found.text.slice(w.from, w.to)));
    span.style.setProperty("--h", strength.toFixed(3));
    box.append(span);
    at = w.to;
  }
  box.append(pieces(found.text.slice(at)));
  return box;
}

// What the shades mean, in words; `labels` are what stands for and against.
function legend(mode, [yes, no]) {
  if (mode === "weight") return el("p", { class: "legend soft" }, el("span", { class: "h loud key" }, "green"), " has much of the attention");
  return el("p", { class: "legend soft" },
    el("span", { class: "h for key" }, "blue, solid"), " speaks for ", mention(yes), ", ",
    el("span", { class: "h against key" }, "orange, dotted"), no === null ? " against it" : " for ", no === null ? null : mention(no));
}

// The exact parts that move the score most, as bars.
function contributions(found, name, n = 10) {
  const parts = new Map();
  for (const part of found.parts) {
    const sum = parts.get(part.row) ?? { ...part, weight: 0, contribution: 0 };
    sum.weight += part.weight;
    sum.contribution += part.contribution;
    parts.set(part.row, sum);
  }
  // Where neighbours move a word, its polarity is the mean over its places, by weight.
  for (const sum of parts.values()) if (sum.times > 1 && sum.weight > 0) sum.polarity = sum.contribution / sum.weight;
  const all = [...parts.values()].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const shown = all.slice(0, n), rest = all.slice(n).reduce((sum, part) => sum + part.contribution, 0);
  // The bars share one line of zero, as far to the right as the longest bar against needs.
  const down = Math.max(...shown.map((part) => -part.contribution), 0), up = Math.max(...shown.map((part) => part.contribution), 0);
  const span = down + up || 1;
  const body = el("tbody");
  for (const part of shown) {
    const bar = el("span", { class: `bar ${part.contribution > 0 ? "for" : "against"}` });
    bar.style.setProperty("--w", Math.abs(part.contribution) / span);
    bar.style.setProperty("--zero", down / span);
    body.append(el("tr", {},
      el("th", { scope: "row" }, word(name(part.row)), part.times > 1 ? el("span", { class: "soft" }, ` ×${part.times}`) : null),
      el("td", { class: "n" }, percent(part.weight)), el("td", { class: "n" }, signed(part.polarity)),
      el("td", { class: "n" }, signed(part.contribution, 3)), el("td", { class: "bars", "aria-hidden": "true" }, bar)));
  }
  const head = ["part", "weight", "polarity", "contribution"].map((title, i) => el("th", { scope: "col", class: i ? "n" : "" }, title));
  return el("div", {},
    el("table", { class: "parts" }, el("thead", {}, el("tr", {}, ...head, el("td", {}))), body),
    all.length > n ? el("p", { class: "soft after" }, all.length - n === 1 ? `and one more part with ${signed(rest, 3)}` : `and ${whole(all.length - n)} more parts with ${signed(rest, 3)} together`) : null);
}

// The choice of a heat map, as the documents and the box to type in have it.
const heatModes = (onchange) => choice("Heat map", [["contribution", "contribution"], ["weight", "weight"], ["polarity", "polarity"]], onchange);

// The legend of a heat map for the side that the text was taken apart for.
const legendOf = (model, found, mode) => legend(mode, [model.head.labels[found.speaksFor], model.sides === 1 ? model.head.labels[0] : null]);
