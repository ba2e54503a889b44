// Test documents with their heat maps, one at a time.

section("documents", (host, model, { items }) => {
  const known = items[0].label !== null;
  let which = "all", mode = "contribution", chosen = 0, shown = [];

  const list = el("ul", { class: "list", "aria-label": "Documents" });
  const view = el("div", { class: "view" });
  const count = el("p", { class: "soft", role: "status" });
  const back = el("button", { type: "button", class: "quiet", onclick: () => step(-1) }, "← Previous");
  const next = el("button", { type: "button", class: "quiet", onclick: () => step(1) }, "Next →");
  const modes = heatModes((value) => { mode = value; draw(); });
  const kinds = [["all", "all"], ["wrong", "wrong"], ["right", "right"]];
  const labels = [["", "any prediction"], ...model.head.labels.map((name, k) => [k, brief(name)])];
  let label = "";
  const whiches = known ? choice("Which documents", kinds, (value) => { which = value; filter(); }) : null;
  const labelled = select(labels, (value) => { label = value; filter(); });
  const filters = el("div", { class: "row" }, whiches, field("Predicted", labelled));

  function filter() {
    shown = items.map((_, i) => i).filter((i) => {
      const { label: truth, prediction } = items[i];
      return (which === "all" || (truth === prediction) === (which === "right")) && (label === "" || prediction === model.head.labels[label]);
    });
    list.replaceChildren(...shown.map((i) => {
      const { text, label: truth, prediction, probability } = items[i];
      const wrong = truth !== null && truth !== prediction;
      return el("li", {}, el("button", { type: "button", value: i, onclick: () => open(i) },
        el("span", { class: "verdict" }, known ? el("span", { class: wrong ? "wrong" : "right" }, wrong ? "✗ wrong" : "✓ right") : null,
          mention(prediction), el("span", { class: "soft n" }, percent(probability))),
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
    const { row, text, label: truth, prediction, parts } = items[chosen];
    const found = parts === null ? model.explain(text) : model.told(items[chosen]);
    view.replaceChildren(
      el("p", { class: "verdict" }, el("span", {}, "predicted ", mention(prediction)), el("span", { class: "soft" }, `at ${percent(found.chance)}`),
        truth === null ? null : el("span", {}, "labelled ", mention(truth)), el("span", { class: "soft" }, `row ${whole(row + 1)}`)),
      modes,
      legendOf(model, found, mode),
      el("div", { class: "prose document", dir: "auto" }, heat(found, mode, printable)),
      found.parts.length ? contributions(found, (r) => model.name(r), 8) : el("p", { class: "soft" }, "No word of this text has a row in the table."));
  }

  host.append(filters, el("div", { class: "browser" }, el("div", { class: "side-list" }, count, list),
    el("div", {}, el("div", { class: "row between" }, back, next), view)));
  filter();
  // From elsewhere on the page: whatever is filtered, show this one and go there.
  return {
    open(i) {
      [which, label] = ["all", ""];
      whiches?.press("all");
      labelled.value = "";
      filter();
      open(i);
      host.closest("section").scrollIntoView();
      list.querySelector("[aria-current]").focus({ preventScroll: true });
    },
  };
});
