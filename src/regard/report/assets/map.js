// The map on a canvas: zoom, pan, hover, search, filter. Points are stamped into the pixels; names are laid over the
// loudest of them where there is room.

const SIZES = [1.3, 2, 3, 4.4]; // radius by how often the row occurs
const LABELS = 90;

section("map", (host, model, { limit }) => {
  const { totals } = model;
  const two = model.sides === 1, { labels } = model.head;
  let side = 0, level = "words", least = model.rows > 20000 ? 5 : 1, query = "";
  let rows = new Uint32Array(0), order = [], found = [], hovered = -1, chosen = -1;
  let view = null, stamps = null, groups = [], hidden = 0;
  const off = new Set();

  const canvas = el("canvas", {
    tabindex: 0, role: "application", "aria-roledescription": "map of words",
    "aria-label": "Attention to the right, polarity upwards. Arrow keys move, plus and minus zoom, 0 shows all, Enter goes through the loudest words.",
  });
  const tip = el("div", { class: "tip", hidden: true });
  const status = el("p", { class: "soft", role: "status" });
  const aside = el("div", { class: "aside" });
  const matches = el("div", { class: "matches" });
  const frame = el("div", { class: "frame" }, canvas, tip);
  const context = canvas.getContext("2d");

  // -- which points ------------------------------------------------------------------------------------------------

  // Groups of kinds as the legend shows them: for each side of two; else the chosen class and all others.
  const group = (row) => {
    const kind = model.kinds[row];
    if (kind < 2) return kind;
    return two ? kind : kind - 2 === side ? 3 : 2;
  };
  const groupNames = () => [["none", "no kind"], ["neutral", "neutral"],
    ["against", two ? `for ${brief(labels[0])}` : "for another class"], ["for", `for ${brief(labels[two ? 1 : side])}`]];

  function choose() {
    const from = level === "phrases" ? model.levels[1] : 0, to = level === "words" ? model.levels[1] : model.rows;
    let kept = [];
    for (let r = from; r < to; r++) if (totals[r] >= least && !off.has(group(r))) kept.push(r);
    hidden = Math.max(0, kept.length - limit);
    kept.sort((a, b) => totals[a] - totals[b]); // the most frequent are drawn last, on top
    if (hidden) kept = kept.slice(hidden);
    if (!two) kept = [...kept.filter((r) => group(r) !== 3), ...kept.filter((r) => group(r) === 3)]; // and the chosen class above all
    rows = Uint32Array.from(kept);
    groups = Uint8Array.from(kept, group);
    // Whose name to write first: loud, on a side, and not too rare.
    const prominence = (r) => [0.25, 0.25, two ? 1 : 0.4, 1][group(r)] * Math.abs(model.polarityOf(r, side)) ** 0.5
      * Math.exp(0.35 * (model.attention[r] - model.top)) * Math.log2(1 + totals[r]);
    const scores = new Map(kept.map((r) => [r, prominence(r)]));
    order = kept.slice().sort((a, b) => scores.get(b) - scores.get(a)).slice(0, 6000);
    status.textContent = `${whole(rows.length)} points${hidden ? `, the most frequent of ${whole(rows.length + hidden)}` : ""}`;
    search();
  }

  function search() {
    const wanted = model.tokeniser.tokens(query).map((token) => token.text).join(" ");
    found = [];
    let elsewhere = -1;
    if (wanted) {
      const exact = [], others = [];
      for (let i = rows.length - 1; i >= 0; i--) {
        const name = model.name(rows[i]);
        if (name === wanted) exact.push(rows[i]);
        else if (name.includes(wanted)) others.push(rows[i]);
      }
      // A word that the filters keep from the map may be looked at all the same.
      for (let r = 0; !exact.length && elsewhere < 0 && r < model.rows; r++) if (model.name(r) === wanted) elsewhere = r;
      found = [...exact, ...(elsewhere < 0 ? [] : [elsewhere]), ...others];
    }
    const says = !found.length ? "No point is called that." : elsewhere >= 0 ? "The filters leave the first one out; it is shown all the same."
      : found.length > 8 ? `${whole(found.length)} points` : "";
    matches.replaceChildren(...found.slice(0, 8).map((row) => el("button", { type: "button", class: "chip", onclick: () => go(row) }, word(model.name(row)))),
      ...(wanted ? [el("span", { class: "soft", role: "status" }, says)] : []));
    repaint();
  }

  // -- the view ----------------------------------------------------------------------------------------------------

  function fit() {
    let [left, right, low, high] = [Infinity, -Infinity, 0, 0];
    for (const r of rows) {
      const x = model.attention[r], y = model.polarityOf(r, side);
      left = Math.min(left, x); right = Math.max(right, x); low = Math.min(low, y); high = Math.max(high, y);
    }
    if (!(right > left)) { left = (Number.isFinite(left) ? left : 0) - 1; right = left + 2; }
    if (!(high > low)) { low -= 1; high += 1; }
    const { width, height } = size();
    view = { x: (left + right) / 2, y: (low + high) / 2, sx: (width - 90) / (right - left), sy: (height - 80) / (high - low) };
    repaint();
  }

  // Asked for once a change: the browser works out the layout each time.
  let box = { width: 600, height: 400 };
  const size = () => box;
  const measure = () => { box = { width: canvas.clientWidth || 600, height: canvas.clientHeight || 400 }; };
  const px = (x) => (x - view.x) * view.sx + size().width / 2;
  const py = (y) => size().height / 2 - (y - view.y) * view.sy;

  function zoom(factor, cx = size().width / 2, cy = size().height / 2) {
    const { width, height } = size();
    const x = view.x + (cx - width / 2) / view.sx, y = view.y - (cy - height / 2) / view.sy;
    const limited = clamp(view.sx * factor, 2, 1e5) / view.sx;
    view.sx *= limited; view.sy *= limited;
    view.x = x - (cx - width / 2) / view.sx; view.y = y + (cy - height / 2) / view.sy;
    repaint();
  }

  function go(row) {
    const { width, height } = size();
    const x = px(model.attention[row]), y = py(model.polarityOf(row, side));
    if (x < 60 || x > width - 60 || y < 40 || y > height - 40) {
      view.x = model.attention[row]; view.y = model.polarityOf(row, side);
    }
    show(row);
  }

  function show(row) {
    chosen = row;
    aside.replaceChildren(row < 0 ? el("p", { class: "soft" }, "Choose a point to see its numbers and its phrases.") : wordCard(model, row, side, go));
    repaint();
  }

  // The loudest word that speaks for the class of the map.
  const begin = () => show(order.find((row) => group(row) === 3) ?? order[0] ?? -1);

  // -- drawing -----------------------------------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const rgb = (name) => {
    const hex = colour(name).slice(1);
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };

  // The shape of each group and size as a small field of opacities.
  function makeStamps(ratio) {
    const colours = ["--dot-none", "--dot-neutral", "--against", "--for"].map(rgb);
    stamps = colours.map((fill, g) => SIZES.map((radius) => {
      const r = radius * (g < 2 ? 0.85 : 1.15), wide = Math.ceil((2 * r + 2) * ratio);
      const c = el("canvas", { width: wide, height: wide }).getContext("2d");
      c.scale(ratio, ratio);
      c.translate(wide / ratio / 2, wide / ratio / 2);
      c.globalAlpha = g < 2 ? 0.55 : g === 2 && !two ? 0.3 : 0.8; // nineteen other classes would drown the chosen one
      c.beginPath();
      if (g === 2) { c.moveTo(0, -1.2 * r); c.lineTo(1.2 * r, 0); c.lineTo(0, 1.2 * r); c.lineTo(-1.2 * r, 0); c.closePath(); } // a diamond
      else c.arc(0, 0, r, 0, 2 * Math.PI);
      if (g === 1 && r > 2) { c.lineWidth = 1.2; c.stroke(); } else c.fill();
      return { fill, wide, opacity: c.getImageData(0, 0, wide, wide).data.filter((_, i) => i % 4 === 3) };
    }));
    stamps.ratio = ratio;
  }

  // Fifty thousand calls of a canvas are too slow for a smooth zoom; as plain numbers they take a few milliseconds.
  function points(image, ratio) {
    const { data, width, height } = image, { x, y } = view, offset = side * model.lines;
    const sx = view.sx * ratio, sy = view.sy * ratio, mx = width / 2, my = height / 2;
    for (let i = 0; i < rows.length; i++) {
      const r = rows[i], { fill: [red, green, blue], wide, opacity } = stamps[groups[i]][bucket(totals[r])];
      const left = Math.round((model.attention[r] - x) * sx + mx - wide / 2);
      const top = Math.round(my - (model.polarity[offset + model.line[r]] - y) * sy - wide / 2);
      if (left <= -wide || left >= width || top <= -wide || top >= height) continue;
      const from = Math.max(0, -left), to = Math.min(wide, width - left);
      for (let j = Math.max(0, -top); j < Math.min(wide, height - top); j++) {
        for (let k = from, at = ((top + j) * width + left + from) * 4; k < to; k++, at += 4) {
          const a = opacity[j * wide + k] / 255;
          data[at] += (red - data[at]) * a;
          data[at + 1] += (green - data[at + 1]) * a;
          data[at + 2] += (blue - data[at + 2]) * a;
        }
      }
    }
  }

  const bucket = (n) => (n < 10 ? 0 : n < 100 ? 1 : n < 1000 ? 2 : 3);

  function paint() {
    const { width, height } = size(), ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    if (!view) fit();
    if (!stamps || stamps.ratio !== ratio) makeStamps(ratio);
    const c = context, ink = colour("--ink"), soft = colour("--soft"), ground = colour("--surface");
    const image = c.createImageData(canvas.width, canvas.height);
    const ticks = grid(image, ratio, width, height);
    points(image, ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.putImageData(image, 0, 0);
    axes(c, ticks, width, height, soft);
    names(c, width, height, ink, ground);
    for (const r of found.slice(0, 300)) ring(c, r, ink, 6);
    for (const r of [chosen, hovered]) if (r >= 0) { ring(c, r, ink, 8); name(c, r, ink, ground, true); }
  }

  function ring(c, r, ink, radius) {
    c.strokeStyle = ink;
    c.lineWidth = 1.5;
    c.beginPath();
    c.arc(px(model.attention[r]), py(model.polarityOf(r, side)), radius, 0, 2 * Math.PI);
    c.stroke();
  }

  function name(c, r, ink, ground, strong, left = false) {
    const text = printable(model.name(r));
    c.font = `${strong ? "600 " : ""}12px ${colour("--sans")}`;
    c.textAlign = "left";
    c.lineJoin = "round";
    c.lineWidth = 3.5;
    c.strokeStyle = ground;
    c.fillStyle = ink;
    const [from, cy] = place(r, c.measureText(text).width, strong ? 11 : 7, left);
    c.strokeText(text, from, cy);
    c.fillText(text, from, cy);
  }

  // Where a name begins: to the right of its point, or to the left where it would stick out.
  function place(r, wide, gap, left = false) {
    const x = px(model.attention[r]), cy = py(model.polarityOf(r, side)) + 4;
    left ||= x + gap + wide > size().width - 6;
    return [left ? Math.max(4, x - gap - wide) : x + gap, cy];
  }

  function names(c, width, height, ink, ground) {
    const taken = [], most = Math.round(LABELS * Math.min(1.6, (width * height) / 500000));
    c.font = `12px ${colour("--sans")}`;
    for (const r of [chosen, hovered].filter((r) => r >= 0)) {
      const wide = model.name(r).length * 7.4 + 6, [from, cy] = place(r, wide, 11);
      taken.push([from - 20, cy - 14, from + wide + 20, cy + 5]);
    }
    for (const r of order) {
      if (r === chosen || r === hovered) continue;
      const x = px(model.attention[r]), wide = model.name(r).length * 6.6 + 4;
      for (const left of [false, true]) {
        const [from, cy] = place(r, wide, 7, left);
        if (x < 0 || x > width || from < 5 || from + wide > width || cy < 14 || cy > height - 30) continue;
        if (taken.some(([l, t, r, b]) => from < r + 4 && from + wide > l && cy - 13 < b && cy + 3 > t)) continue;
        taken.push([from, cy - 13, from + wide, cy + 3]);
        name(c, r, ink, ground, false, left);
        break;
      }
      if (taken.length >= most) break;
    }
  }

  // The ground and its lines; returns where the lines are.
  function grid(image, ratio, width, height) {
    const packed = (name) => { const [r, g, b] = rgb(name); return (255 << 24 | b << 16 | g << 8 | r) >>> 0; };
    const pixels = new Uint32Array(image.data.buffer), line = packed("--line"), zero = packed("--edge");
    pixels.fill(packed("--surface"));
    const ticks = [];
    for (const [step, at, across] of [[tick(90 / view.sx), px, true], [tick(60 / view.sy), py, false]]) {
      const middle = across ? view.x : view.y, reach = (across ? width / view.sx : height / view.sy) / 2;
      for (let v = Math.ceil((middle - reach) / step) * step; v <= middle + reach; v += step) {
        const p = Math.round(at(v) * ratio), axis = !across && Math.abs(v) < step / 1e6;
        if (p < 0 || p >= (across ? image.width : image.height)) continue;
        if (across) for (let i = p; i < pixels.length; i += image.width) pixels[i] = line;
        else pixels.fill(axis ? zero : line, p * image.width, (p + 1) * image.width);
        ticks.push([p / ratio, String(Number(v.toPrecision(6))).replace("-", "\u2212"), across]);
      }
    }
    return ticks;
  }

  function axes(c, ticks, width, height, soft) {
    c.font = `11px ${colour("--sans")}`;
    c.fillStyle = soft;
    for (const [p, text, across] of ticks) {
      c.textAlign = across ? "center" : "left";
      if (across && p > 14 && p < width - 14) c.fillText(text, p, height - 6);
      else if (!across && p > 26 && p < height - 34) c.fillText(text, 6, p - 4);
    }
    c.textAlign = "right";
    c.fillText("louder →", width - 8, height - 20);
    c.textAlign = "left";
    const shorten = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);
    c.fillText(`↑ for ${shorten(brief(two ? labels[1] : labels[side]))}`, 6, 15);
    c.fillText(two ? `↓ for ${shorten(brief(labels[0]))}` : "↓ against", 6, height - 20);
  }

  const tick = (least) => {
    const ten = 10 ** Math.floor(Math.log10(least));
    return ten * [1, 2, 5, 10].find((m) => m * ten >= least);
  };

  const repaint = soon(paint);

  // -- hands -------------------------------------------------------------------------------------------------------

  function nearest(cx, cy) {
    let best = -1, least = 14 ** 2;
    const { x, y, sx, sy } = view, { width, height } = size(), offset = side * model.lines;
    for (let i = rows.length - 1; i >= 0; i--) {
      const dx = (model.attention[rows[i]] - x) * sx + width / 2 - cx, dy = height / 2 - (model.polarity[offset + model.line[rows[i]]] - y) * sy - cy;
      const d = dx * dx + dy * dy;
      if (d < least) { least = d; best = rows[i]; }
    }
    return best;
  }

  function hover(event) {
    const row = event ? nearest(event.offsetX, event.offsetY) : -1;
    tip.hidden = row < 0;
    if (row !== hovered) { hovered = row; repaint(); }
    if (row < 0) return;
    tip.replaceChildren(word(model.name(row)), el("span", {}, `attention ${signed(model.attention[row])}`),
      el("span", {}, `polarity ${signed(model.polarityOf(row, side))}`), el("span", {}, `${times(totals[row])}, ${kindName(model, model.kinds[row])}`));
    const left = Math.min(event.offsetX + 14, size().width - tip.offsetWidth - 6);
    const top = event.offsetY > size().height - tip.offsetHeight - 24 ? event.offsetY - tip.offsetHeight - 12 : event.offsetY + 16;
    tip.style.transform = `translate(${Math.max(4, left)}px, ${top}px)`;
  }

  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    const now = { x: event.offsetX, y: event.offsetY };
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      const apart = (p) => Math.hypot(p.x - other.x, p.y - other.y);
      zoom(apart(now) / Math.max(1, apart(before)), (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else {
      view.x -= (now.x - before.x) / view.sx;
      view.y += (now.y - before.y) / view.sy;
      repaint();
    }
    pointers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => {
      pointers.delete(event.pointerId);
      if (end === "pointerup" && moved < 4) show(nearest(event.offsetX, event.offsetY));
    });
  }
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("wheel", (event) => {
    // Scrolling the page must not get caught in the map: it zooms once it has been chosen, or with Ctrl.
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 60;
    const keys = {
      ArrowLeft: () => { view.x -= step / view.sx; }, ArrowRight: () => { view.x += step / view.sx; },
      ArrowUp: () => { view.y += step / view.sy; }, ArrowDown: () => { view.y -= step / view.sy; },
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fit,
      Enter: () => go(order[(order.indexOf(chosen) + (event.shiftKey ? order.length - 1 : 1)) % order.length]),
      Escape: () => canvas.blur(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
    repaint();
  });

  // -- controls ----------------------------------------------------------------------------------------------------

  const most = totals.reduce((a, b) => Math.max(a, b), 1);
  const count = el("input", { type: "range", min: 0, max: Math.ceil(10 * Math.log10(most)), step: 1, value: Math.round(10 * Math.log10(least)),
    oninput: () => { least = Math.max(1, Math.round(10 ** (count.value / 10))); says.textContent = times(least); choose(); } });
  const says = el("output", { class: "soft" }, times(least));
  const searchBox = el("input", { type: "search", autocomplete: "off", spellcheck: "false",
    oninput: soon(() => { query = searchBox.value; search(); }, 120),
    onkeydown: (event) => { if (event.key === "Enter") { query = searchBox.value; search(); if (found.length) go(found[0]); } } });
  const kinds = el("div", { class: "kinds", role: "group", "aria-label": "Kinds" });
  function legends() {
    kinds.replaceChildren(...groupNames().map(([style, text], g) => {
      const box = el("input", { type: "checkbox", checked: !off.has(g), onchange: () => { if (box.checked) off.delete(g); else off.add(g); choose(); } });
      return el("label", { class: "kind" }, box, el("span", { class: `dot ${style}`, "aria-hidden": "true" }), word(text));
    }).reverse());
  }
  const levels = model.levels.length > 2 ? choice("Points", [["words", "words"], ["phrases", "phrases"], ["both", "both"]], (value) => { level = value; choose(); fit(); }) : null;
  const classes = two ? null : field("Class", select(labels.map((label, k) => [k, brief(label)]), (value) => { side = Number(value); legends(); choose(); fit(); begin(); }));
  const button = (text, title, act) => el("button", { type: "button", class: "quiet", "aria-label": title, onclick: act }, text);

  host.append(
    el("div", { class: "row" }, field("Search a word", searchBox), field("At least", count, says), classes, levels),
    matches,
    el("div", { class: "atlas" },
      el("div", {}, frame, el("div", { class: "row between under" }, kinds,
        el("div", { class: "row zoom" }, button("+", "Zoom in", () => zoom(1.5)), button("−", "Zoom out", () => zoom(1 / 1.5)), button("All", "Show all", fit))),
        el("div", { class: "row between" }, status, el("p", { class: "soft" }, "Drag to move; Ctrl and scroll, or + and −, to zoom."))),
      aside));
  measure();
  legends();
  choose();
  begin();
  new ResizeObserver(() => {
    const first = canvas.width === 300;
    measure();
    if (first) fit();
    repaint();
  }).observe(canvas);
  // Paper is white, whatever the screen is, and this event comes before the styles of print.
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    stamps = null;
    paint();
  });
  addEventListener("afterprint", () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    stamps = null;
    repaint();
  });
  document.addEventListener("repaint", () => { stamps = null; repaint(); });
});
