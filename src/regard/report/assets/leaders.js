// The words of a text on their way through the layers: a slider, and a point for each word.

section("leaders", (host, model, { items }) => {
  if (!items.length) return;
  const size = 520, edge = 46, layers = items[0].words[0].path.length - 1;
  let chosen = 0;

  // The name of SVG is an address, and the page holds none: a picture knows it.
  const example = el("template");
  example.innerHTML = "<svg></svg>";
  const space = example.content.firstChild.namespaceURI;
  const shape = (tag, properties, ...children) => {
    const node = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const picture = shape("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", class: "journey", "aria-label": "The words of the text as points" });
  const slider = el("input", { type: "range", min: 0, max: layers, step: 1, value: 0, oninput: () => move() });
  const says = el("output", { class: "soft" });
  const which = select(items.map((item, i) => [i, `${brief(item.prediction)}: ${item.text.slice(0, 60).replace(/\s+/g, " ")}\u2026`]), (value) => { chosen = Number(value); draw(); });
  const list = el("div", { class: "scroll" });
  let marks = [], place = () => [0, 0];

  function draw() {
    const words = items[chosen].words, all = words.flatMap((each) => each.path);
    const [low, high] = [0, 1].map((k) => [Math.min(...all.map((p) => p[k])), Math.max(...all.map((p) => p[k]))]).reduce(([a, b], [c, d]) => [[...a, c], [...b, d]], [[], []]);
    place = (p) => [0, 1].map((k) => {
      const t = high[k] > low[k] ? (p[k] - low[k]) / (high[k] - low[k]) : 0.5;
      return edge + (size - 2 * edge) * (k ? 1 - t : t);
    });
    // Leaders last, so that they lie on top.
    const order = words.map((_, i) => i).sort((a, b) => (words[a].leader !== null) - (words[b].leader !== null));
    marks = order.map((i) => {
      const { text, leader, contribution } = words[i];
      const dot = shape("circle", { r: leader === null ? 5 : 9, class: contribution > 0 ? "pro" : "con" }, shape("title", {}, printable(text)));
      const name = shape("text", { class: leader === null ? "" : "leader", dy: leader === null ? -8 : -13, "text-anchor": "middle" }, printable(text));
      return { i, node: shape("g", {}, dot, ...(leader === null && words.length > 30 ? [] : [name])) };
    });
    picture.replaceChildren(...marks.map(({ node }) => node));
    const leaders = words.map((_, i) => i).filter((i) => words[i].leader !== null);
    list.replaceChildren(el("table", {},
      el("thead", {}, el("tr", {}, ...[["leader"], ["kind"], ["since layer", "n"], ["contribution", "n"], ["who gathers around it", "who"]].map(([name, kind]) => el("th", { scope: "col", class: kind ?? "" }, name)))),
      el("tbody", {}, ...leaders.map((i) => {
        const drawn = words.filter((each, j) => each.cluster === i && j !== i).map((each) => printable(each.text));
        return el("tr", {}, el("th", { scope: "row" }, word(words[i].text)), el("td", {}, word(words[i].kind)), el("td", { class: "n" }, String(words[i].leader)),
          el("td", { class: "n" }, signed(words[i].contribution)), el("td", { class: "who" }, drawn.length ? drawn.join(", ") : "nobody"));
      }))));
    move();
  }

  function move() {
    const layer = Number(slider.value), { words } = items[chosen];
    says.textContent = layer ? `after layer ${layer}` : "where they start";
    slider.setAttribute("aria-valuetext", says.textContent);
    for (const { i, node } of marks) node.setAttribute("transform", `translate(${place(words[i].path[layer]).map((x) => x.toFixed(1)).join(" ")})`);
  }

  const [pro, con] = model.sides === 1 ? [mention(model.head.labels[1]), mention(model.head.labels[0])] : ["the prediction", "the others"];
  const key = el("p", { class: "soft" }, "Large points are leaders. Blue speaks for ", pro, ", orange for ", con, ".");
  host.append(el("div", { class: "row" }, field("Text", which), field("Layer", slider, says)), key, picture, list);
  draw();
});
