// The table of all words and phrases: search, sort, filter; and a card that shows a word with its phrases.

const PAGE = 25;

function gammaOf(model, row) {
  const k = model.head.labels.length, counts = Array.from({ length: k }, (_, c) => model.countOf(row, c));
  const total = Math.max(1, counts.reduce((a, b) => a + b));
  return k === 2 ? (counts[1] - counts[0]) / total : ((k * Math.max(...counts)) / total - 1) / Math.max(k - 1, 1);
}

// With two classes Python says positive and negative; the page names the class itself.
function kindName(model, kind) {
  return kind < 2 ? ["no kind", "neutral"][kind] : `for ${brief(model.head.labels[kind - 2])}`;
}

// The phrases in which a word stands, loudest first; for a phrase, its words.
function relatives(model, row) {
  if (row >= model.levels[1]) return model.name(row).split(" ").map((text) => model.rowOf.get(text));
  if (!model.phrases.length) return [];
  const { prefix, last } = model.phrases[0], found = [];
  for (let i = 0; i < last.length; i++) if (last[i] === row || prefix[i] === row) found.push(model.levels[1] + i);
  return found.sort((a, b) => model.attention[b] - model.attention[a]);
}

function wordCard(model, row, side, open) {
  const numbers = [["attention", signed(model.attention[row])], ["polarity", signed(model.polarityOf(row, side))],
    ["γ", signed(gammaOf(model, row))], ["kind", kindName(model, model.kinds[row])]];
  const counts = model.head.labels.map((label, k) => [label, model.countOf(row, k)]).filter(([, n]) => n)
    .sort((a, b) => b[1] - a[1]).slice(0, 6);
  const family = relatives(model, row);
  return el("div", { class: "card" },
    el("h3", {}, word(model.name(row))),
    el("dl", { class: "numbers" }, ...numbers.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    el("p", { class: "soft" }, "in training texts: ", ...counts.flatMap(([label, n], i) => [i ? ", " : "", `${times(n)} in `, mention(label)])),
    family.length ? el("h4", {}, row < model.levels[1] ? "its phrases" : "its words") : null,
    family.length ? el("ul", { class: "family" }, ...family.slice(0, 10).map((other) => el("li", {},
      el("button", { type: "button", class: "link", onclick: () => open(other) }, word(model.name(other))),
      el("span", { class: `n ${model.polarityOf(other, side) > 0 ? "up" : "down"}` }, signed(model.polarityOf(other, side)))))) : null,
    family.length > 10 ? el("p", { class: "soft" }, `and ${whole(family.length - 10)} more`) : null);
}

section("words", (host, model) => {
  const labels = model.head.labels, two = model.sides === 1;
  const starts = model.levels;
  let side = 0, query = "", level = "all", kind = "", least = model.rows > 20000 ? 5 : 1, sort = "attention", down = true, page = 0;
  let rows = new Uint32Array(0), opened = -1, names = null;
  const { totals } = model;

  const columns = two
    ? [["word", "word"], ["attention", "attention"], ["polarity", "polarity"], ["count0", `in ${brief(labels[0])}`], ["count1", `in ${brief(labels[1])}`], ["gamma", "γ"], ["kind", "kind"]]
    : [["word", "word"], ["attention", "attention"], ["polarity", "polarity"], ["total", "count"], ["gamma", "γ"], ["kind", "kind"]];
  const heads = new Map();
  const headRow = el("tr", {}, ...columns.map(([id, title], i) => {
    const th = el("th", { scope: "col", class: i && id !== "kind" ? "n" : "" },
      el("button", { type: "button", class: "sort", onclick: () => { down = sort === id ? !down : id !== "word"; sort = id; page = 0; refresh(); } },
        word(title), el("span", { class: "arrow", "aria-hidden": "true" })));
    heads.set(id, th);
    return th;
  }));
  const body = el("tbody");
  const status = el("p", { class: "soft", role: "status" });
  const back = el("button", { type: "button", class: "quiet", onclick: () => { page--; draw(); } }, "← Back");
  const next = el("button", { type: "button", class: "quiet", onclick: () => { page++; draw(); } }, "More →");
  const search = el("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: soon(() => { query = search.value; page = 0; refresh(); }, 120) });
  const count = el("input", { type: "number", min: 1, value: least, oninput: soon(() => { least = Number(count.value) || 1; page = 0; refresh(); }, 200) });
  const kinds = select([["", "any kind"], ...model.head.kinds.map((_, k) => [k, kindName(model, k)])], (value) => { kind = value; page = 0; refresh(); });
  const levels = starts.length > 2
    ? choice("Rows", [["all", "all"], ["words", "words"], ["phrases", "phrases"]], (value) => { level = value; page = 0; refresh(); }) : null;
  const sides = two ? null : field("Polarity for", select(labels.map((label, k) => [k, brief(label)]), (value) => { side = Number(value); refresh(); }));

  const keyOf = {
    attention: (r) => model.attention[r], polarity: (r) => model.polarityOf(r, side), total: (r) => totals[r],
    count0: (r) => model.countOf(r, 0), count1: (r) => model.countOf(r, 1), gamma: (r) => gammaOf(model, r), kind: (r) => model.kinds[r],
  };

  function refresh() {
    const wanted = model.tokeniser.tokens(query).map((token) => token.text).join(" ") || query.trim().toLowerCase();
    if (wanted || sort === "word") names ??= Array.from({ length: model.rows }, (_, r) => model.name(r));
    const from = level === "phrases" ? starts[1] : 0, to = level === "words" ? starts[1] : model.rows;
    const found = [];
    for (let r = from; r < to; r++) {
      if (totals[r] >= least && (kind === "" || model.kinds[r] === Number(kind)) && (!wanted || names[r].includes(wanted))) found.push(r);
    }
    rows = Uint32Array.from(found);
    const way = down ? -1 : 1;
    if (sort === "word") rows.sort((a, b) => way * (names[a] < names[b] ? -1 : 1));
    else {
      const keys = new Float64Array(model.rows), key = keyOf[sort];
      for (const r of rows) keys[r] = key(r);
      rows.sort((a, b) => way * (keys[a] - keys[b]));
    }
    // The word itself comes before the words that contain it.
    const exact = wanted ? rows.findIndex((r) => names[r] === wanted) : -1;
    if (exact > 0) { const row = rows[exact]; rows.copyWithin(1, 0, exact); rows[0] = row; }
    for (const [id, th] of heads) {
      if (id === sort) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
    draw();
  }

  function draw() {
    page = clamp(page, 0, Math.max(0, Math.ceil(rows.length / PAGE) - 1));
    const first = page * PAGE, shown = rows.subarray(first, first + PAGE);
    body.replaceChildren(...[...shown].flatMap((row) => {
      const polarity = model.polarityOf(row, side);
      const cells = two ? [whole(model.countOf(row, 0)), whole(model.countOf(row, 1))] : [whole(totals[row])];
      const open = row === opened;
      const line = el("tr", { class: open ? "open" : "" },
        el("th", { scope: "row" }, el("button", { type: "button", class: "link", "aria-expanded": String(open), onclick: () => toggle(row) }, word(model.name(row)))),
        el("td", { class: "n" }, signed(model.attention[row])),
        el("td", { class: `n ${polarity > 0 ? "up" : "down"}` }, signed(polarity)),
        ...cells.map((text) => el("td", { class: "n" }, text)),
        el("td", { class: "n" }, signed(gammaOf(model, row))), el("td", {}, kindName(model, model.kinds[row])));
      return open ? [line, el("tr", {}, el("td", { colspan: columns.length }, wordCard(model, row, side, find)))] : [line];
    }));
    status.textContent = rows.length ? `${whole(first + 1)}–${whole(first + shown.length)} of ${whole(rows.length)}` : "No row is like that.";
    back.disabled = page === 0;
    next.disabled = first + PAGE >= rows.length;
  }

  function toggle(row) {
    opened = opened === row ? -1 : row;
    draw();
    for (const button of body.querySelectorAll("[aria-expanded]")) {
      if (button.textContent === printable(model.name(row))) button.focus({ preventScroll: true });
    }
  }

  function find(row) {
    search.value = query = model.name(row);
    [kind, level, least, opened, page] = ["", "all", 1, row, 0];
    kinds.value = "";
    count.value = 1;
    levels?.press("all");
    refresh();
  }

  host.append(el("h3", { class: "sub" }, "The whole table"),
    el("div", { class: "row" }, field("Search", search), field("At least (times)", count), field("Kind", kinds), sides, levels),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of words" },
      el("table", { class: "table" }, el("thead", {}, headRow), body)),
    el("div", { class: "row between" }, back, status, next));
  refresh();
});
