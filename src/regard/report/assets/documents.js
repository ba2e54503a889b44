// Test documents with their heat maps, one at a time.

function documentsSection(host, model) {
  const { items } = model.head.documents;
  const known = items[0][2] !== null;
  let which = "all", mode = "contribution", chosen = 0, shown = [];

  const list = el("ul", { class: "list", "aria-label": "Documents" });
  const view = el("div", { class: "view" });
  const count = el("p", { class: "soft", role: "status" });
  const back = el("button", { type: "button", class: "quiet", onclick: () => step(-1) }, "← Previous");
  const next = el("button", { type: "button", class: "quiet", onclick: () => step(1) }, "Next →");
  const modes = choice("Heat map", [["contribution", "contribution"], ["weight", "weight"], ["polarity", "polarity"]], (value) => {
    mode = value;
    draw();
  });
  const kinds = [["all", "all"], ["wrong", "wrong"], ["right", "right"]];
  const labels = [["", "any prediction"], ...model.head.labels.map((name, k) => [k, name])];
  let label = "";
  const filters = el("div", { class: "row" },
    known ? choice("Which documents", kinds, (value) => { which = value; filter(); }) : null,
    field("Predicted", select(labels, (value) => { label = value; filter(); })));

  function filter() {
    shown = items.map((_, i) => i).filter((i) => {
      const [, , truth, prediction] = items[i];
      return (which === "all" || (truth === prediction) === (which === "right")) && (label === "" || prediction === model.head.labels[label]);
    });
    list.replaceChildren(...shown.map((i) => {
      const [, text, truth, prediction, chance] = items[i];
      const wrong = truth !== null && truth !== prediction;
      return el("li", {}, el("button", { type: "button", value: i, onclick: () => open(i) },
        el("span", { class: "verdict" }, known ? el("span", { class: wrong ? "wrong" : "right" }, wrong ? "✗ wrong" : "✓ right") : null,
          mention(prediction), el("span", { class: "soft n" }, percent(chance))),
        el("span", { class: "start", dir: "auto" }, printable(text.slice(0, 90).replace(/\s+/g, " ")))));
    }));
    count.textContent = `${whole(shown.length)} shown`;
    if (shown.length && !shown.includes(chosen)) chosen = shown[0];
    draw();
  }

  function step(by) {
    if (!shown.length) return;
    open(shown[(shown.indexOf(chosen) + by + shown.length) % shown.length]);
  }

  function open(i) {
    chosen = i;
    draw();
    const button = list.querySelector(`[value="${i}"]`);
    if (button) list.scrollTop += button.getBoundingClientRect().top - list.getBoundingClientRect().top - 60;
  }

  function draw() {
    for (const button of list.querySelectorAll("button")) {
      if (Number(button.value) === chosen) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    if (!shown.length) {
      view.replaceChildren(el("p", { class: "soft" }, "No document is like that."));
      return;
    }
    const [row, text, truth, prediction] = items[chosen];
    const found = model.explain(text);
    const chance = found.chances[found.predicted];
    const against = model.sides === 1 ? model.head.labels[0] : null;
    view.replaceChildren(
      el("p", { class: "verdict" }, "predicted ", mention(prediction), el("span", { class: "soft" }, ` at ${percent(chance)}`),
        truth === null ? null : el("span", {}, " labelled ", mention(truth)), el("span", { class: "soft" }, ` row ${whole(row + 1)}`)),
      modes,
      legend(mode, [model.head.labels[found.speaksFor], against]),
      el("div", { class: "prose document", dir: "auto" }, heat(found, mode, printable)),
      found.parts.length ? contributions(found, (r) => model.name(r), 8) : el("p", { class: "soft" }, "No word of this text has a row in the table."));
  }

  host.append(filters, el("div", { class: "browser" }, el("div", { class: "side-list" }, count, list),
    el("div", {}, el("div", { class: "row between" }, back, next), view)));
  filter();
  return { open: (i) => { which = "all"; label = ""; filter(); open(i); } };
}
