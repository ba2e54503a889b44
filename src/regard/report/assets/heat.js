// A text with its words shaded. Blue with a solid line speaks for the label, orange with a dotted line against it;
// weight has no side and is green.

function heat(found, mode, pieces) {
  const measure = { weight: (w) => w.weight, polarity: (w) => w.polarity ?? 0, contribution: (w) => w.contribution }[mode];
  const top = found.words.reduce((most, w) => Math.max(most, Math.abs(measure(w))), 0) || 1;
  const box = document.createDocumentFragment();
  let at = 0;
  for (const w of found.words) {
    if (w.from > at) box.append(pieces(found.text.slice(at, w.from)));
    const value = measure(w), strength = Math.abs(value) / top;
    const text = pieces(found.text.slice(w.from, w.to));
    if (strength < 0.02) box.append(text);
    else {
      const span = el("span", { class: `h ${mode === "weight" ? "loud" : value > 0 ? "for" : "against"}` }, text);
      span.style.setProperty("--h", strength.toFixed(3));
      span.word = w;
      box.append(span);
    }
    at = w.to;
  }
  box.append(pieces(found.text.slice(at)));
  return box;
}

// What the shades mean, in words; `labels` are what stands for and against.
function legend(mode, [yes, no]) {
  if (mode === "weight") return el("p", { class: "legend soft" }, el("span", { class: "h loud key" }, "green"), " has much of the attention");
  return el("p", { class: "legend soft" },
    el("span", { class: "h for key" }, "blue, solid"), " speaks for ", word(yes, "label"), ", ",
    el("span", { class: "h against key" }, "orange, dotted"), no === null ? " against it" : " for ", no === null ? null : word(no, "label"));
}

// The exact parts that move the score most, as bars from the middle.
function contributions(found, name, n = 10) {
  const parts = new Map();
  for (const part of found.parts) {
    const sum = parts.get(part.row) ?? { ...part, weight: 0, contribution: 0 };
    sum.weight += part.weight;
    sum.contribution += part.contribution;
    parts.set(part.row, sum);
  }
  const all = [...parts.values()].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const shown = all.slice(0, n), rest = all.slice(n).reduce((sum, part) => sum + part.contribution, 0);
  const top = Math.max(...shown.map((part) => Math.abs(part.contribution)), 1e-12);
  const body = el("tbody");
  for (const part of shown) {
    const bar = el("span", { class: `bar ${part.contribution > 0 ? "for" : "against"}` });
    bar.style.setProperty("--w", Math.abs(part.contribution) / top);
    body.append(el("tr", {},
      el("th", { scope: "row" }, word(name(part.row)), part.times > 1 ? el("span", { class: "soft" }, ` ×${part.times}`) : null),
      el("td", { class: "n" }, percent(part.weight)), el("td", { class: "n" }, signed(part.polarity)),
      el("td", { class: "n" }, signed(part.contribution, 3)), el("td", { class: "bars", "aria-hidden": "true" }, bar)));
  }
  const head = ["part", "weight", "polarity", "contribution"].map((title, i) => el("th", { scope: "col", class: i ? "n" : "" }, title));
  return el("div", {},
    el("table", { class: "parts" }, el("thead", {}, el("tr", {}, ...head, el("td", {}))), body),
    all.length > n ? el("p", { class: "soft" }, `and ${whole(all.length - n)} more parts with ${signed(rest, 3)} together`) : null);
}
