// A box to type in. The shades lie behind the letters, in a copy of the text that wraps as the box does.

section("try", (host, model) => {
  const scale = model.head.scale;
  const settings = { slower: 1, sharpness: 0, label: null };
  let mode = "contribution";

  const box = el("textarea", { spellcheck: "false", rows: 3, dir: "auto", placeholder: "Type or paste a text …" });
  const behind = el("div", { class: "behind", dir: "auto", "aria-hidden": "true" });
  const result = el("div", { class: "result" });
  const said = el("p", { class: "unseen", role: "status" });

  const lambda = el("input", { type: "range", min: -2, max: 2, step: 0.01, value: 0, oninput: () => set() });
  const lambdaSays = el("output", { class: "soft", for: (lambda.id = fresh("field")) });
  const sharp = el("input", { type: "range", min: 0, max: 1, step: 0.01, value: 0, oninput: () => set() });
  const sharpSays = el("output", { class: "soft", for: (sharp.id = fresh("field")) });
  const reset = el("button", { type: "button", class: "quiet", onclick: () => { lambda.value = sharp.value = 0; set(); } }, "As trained");
  const modes = heatModes((value) => { mode = value; draw(); });
  const which = model.sides === 1 ? null : field("Explain the score of",
    select([["", "the prediction"], ...model.head.labels.map((label, k) => [k, brief(label)])], (k) => {
      settings.label = k === "" ? null : Number(k);
      draw();
    }));

  function set() {
    settings.slower = 10 ** Number(lambda.value);
    settings.sharpness = Number(sharp.value);
    const now = scale * settings.slower;
    const as = now >= 100 ? now.toFixed(0) : now.toPrecision(3);
    lambdaSays.textContent = Number(lambda.value) === 0 ? `λ = ${as}, as trained` : `λ = ${as}: ${settings.slower < 1 ? "loud words drown the others" : "all words speak more alike"}`;
    const t = settings.sharpness;
    sharpSays.textContent = t === 0 ? "softmax: every word is heard a little, as trained" : t === 1 ? "hardmax: only the loudest is heard"
      : `${t === 0.5 ? "sparsemax: " : ""}silent are words ${((1 - t) / t).toFixed(t < 0.1 ? 1 : 2)} or more below the loudest`;
    lambda.setAttribute("aria-valuetext", lambdaSays.textContent);
    sharp.setAttribute("aria-valuetext", sharpSays.textContent);
    draw();
  }

  function draw() {
    const found = model.explain(box.value, settings);
    const trained = settings.slower === 1 && settings.sharpness === 0;
    // A line end at the very end has no height without something after it.
    behind.replaceChildren(heat(found, mode, (text) => text), "\u200b");
    result.replaceChildren(
      el("div", {}, verdict(found, trained), chanceBars(found)),
      el("div", {}, legendOf(model, found, mode),
        found.parts.length ? contributions(found, (row) => model.name(row)) : el("p", { class: "soft" }, "No word of this text has a row in the table; the bias alone speaks."),
        el("p", { class: "soft sum" }, `score ${signed(found.scores[found.side], 3)} = bias ${signed(model.bias[found.side], 3)} `
          + `+ contributions ${signed(found.scores[found.side] - model.bias[found.side], 3)}; residual ${found.residual ? found.residual.toExponential(0).replaceAll("-", "\u2212") : 0}`)));
    say();
  }

  function verdict(found, trained) {
    const note = trained ? null : model.explain(box.value);
    return el("p", { class: "big" }, mention(model.head.labels[found.predicted]), el("span", { class: "n" }, ` ${percent(found.chance)}`),
      note && el("span", { class: "soft small" }, " as trained: ", brief(model.head.labels[note.predicted]), ` ${percent(note.chance)}`));
  }

  function chanceBars(found) {
    const order = [...found.chances.keys()].sort((a, b) => found.chances[b] - found.chances[a]).slice(0, 6);
    return el("ul", { class: "chances" }, ...order.map((k) => {
      const bar = el("span", { class: `bar ${model.sides === 1 && k === 0 ? "against" : "for"}` });
      bar.style.setProperty("--w", found.chances[k]);
      return el("li", {}, word(brief(model.head.labels[k])), el("span", { class: "track", "aria-hidden": "true" }, bar), el("span", { class: "n" }, percent(found.chances[k])));
    }));
  }

  // For a screen reader, when the typing pauses.
  const say = soon(() => { said.textContent = result.querySelector(".big").textContent; }, 700);

  box.addEventListener("input", soon(draw));
  host.append(
    el("div", { class: "writing" }, el("label", { class: "unseen", for: (box.id = "text") }, "A text of yours"), behind, box),
    said,
    el("div", { class: "row between" }, modes, which),
    el("div", { class: "sliders" }, field("Scale λ", lambda, lambdaSays), field("From softmax to hardmax", sharp, sharpSays), reset),
    result);
  box.value = sample(model);
  set();
});

// A short text to begin with: the start of a right document, or some of the loudest words.
function sample(model) {
  const documents = model.head.sections.documents?.items ?? [];
  const rights = documents.filter(({ text, label, prediction }) => label === prediction && text.length > 50);
  const right = rights.find(({ text, probability }) => text.length < 260 && probability > 0.9) ?? rights[0];
  if (right) return right.text.length < 400 ? right.text : right.text.slice(0, 300).replace(/<[^>]*>/g, " ").replace(/\s+\S*$/, " …");
  return [...document.querySelectorAll(".side")].slice(0, 3).map((side) => side.querySelector("tbody bdi")?.textContent ?? "").join(" ");
}
