// Small tools for the page. Whatever came from the data is set as text, never as markup.

// What shows the live part of a section: `open(host, model, data)`, with what the report packed for it. May return
// what other sections can ask of it.
const rooms = new Map();
const section = (name, open) => rooms.set(name, open);

function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A word or label of the data: isolated, so that its direction does not leak.
const word = (text, kind = "") => el("bdi", kind ? { class: kind } : {}, printable(String(text)));

// A number is called a class; a label may be a sentence, and where it is only mentioned its two ends will do. page.py
// does the same.
const brief = (text) => {
  const all = [.../^-?[0-9]+$/.test(text) ? `class ${text}` : printable(String(text))];
  return all.length > 48 ? `${all.slice(0, 30).join("")}\u2026${all.slice(-17).join("")}` : all.join("");
};
const mention = (text) => el("bdi", { class: "label", title: brief(text).includes("\u2026") ? printable(String(text)) : undefined }, brief(text));

// Direction marks and control characters become visible instead of doing their work.
const printable = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\u00b7");

const times = (n) => (n === 1 ? "once" : `${whole(n)} times`);
const signed = (x, digits = 2) => `${x < 0 ? "\u2212" : "+"}${Math.abs(x).toFixed(digits)}`;
const whole = (n) => n.toLocaleString("en");
// Never rounded to certainty.
const percent = (p) => (p > 0.9995 && p < 1 ? "over 99.9%" : p < 0.0005 && p > 0 ? "under 0.1%" : `${(100 * p).toFixed(1)}%`);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

let names = 0;
const fresh = (what) => `${what}-${++names}`;

// A label above its control, and beside the label what the control says.
function field(text, control, says = null) {
  control.id ||= fresh("field");
  return el("div", { class: "field" }, el("div", { class: "says" }, el("label", { for: control.id }, text), says), control);
}

function select(options, onchange) {
  const control = el("select", { onchange: () => onchange(control.value) });
  for (const [value, text] of options) control.append(el("option", { value }, printable(String(text))));
  return control;
}

// Buttons of which one is pressed.
function choice(name, options, onchange) {
  const group = el("div", { class: "choice", role: "group", "aria-label": name });
  const press = (value) => {
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.value === value));
  };
  for (const [value, text] of options) {
    const button = el("button", { type: "button", value, onclick: () => { press(value); onchange(value); } }, text);
    group.append(button);
  }
  press(options[0][0]);
  group.press = press;
  return group;
}

// Run `act` once, soon, however often it is asked for.
function soon(act, wait = 0) {
  let pending = 0;
  return () => {
    if (wait) {
      clearTimeout(pending);
      pending = setTimeout(act, wait);
    } else if (!pending) {
      pending = requestAnimationFrame(() => { pending = 0; act(); });
    }
  };
}
