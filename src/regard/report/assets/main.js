// The page comes to life: unpack the model, show it section by section, answer `regard.predict`.

function theme() {
  const button = document.getElementById("theme");
  const stored = (() => { try { return localStorage.getItem("regard-theme"); } catch { return null; } })();
  const dark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    const now = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = now;
    try { localStorage.setItem("regard-theme", now); } catch { /* a file or a frame may have no storage */ }
    show();
    document.dispatchEvent(new Event("repaint"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { show(); document.dispatchEvent(new Event("repaint")); });
  button.hidden = false;
  show();
}

function here() {
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(entry.target.id), bar = link.closest("nav");
      link.setAttribute("aria-current", "true");
      bar.scrollLeft = link.offsetLeft - bar.offsetLeft - 40; // on a narrow screen not all of them are in sight
    }
  }, { rootMargin: "-30% 0px -65% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));
}

// In a notebook's frame "#words" would mean a place in the notebook.
function stayInFrame() {
  if (location.protocol !== "about:") return;
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.getAttribute("href").slice(1)).scrollIntoView();
  });
}

let model;
const ready = (async () => {
  const holder = document.getElementById("packed");
  const unpacked = await unpack(holder.textContent);
  holder.remove(); // megabytes of text that nobody needs any more
  model = new Model(unpacked);
})();

// Ready means that predict answers; the pictures follow.
window.regard = Object.freeze({
  ready,
  predict: (text) => model.predict(text),
  explain: (text, settings) => model.explain(String(text), settings),
  get model() { return model; },
});

async function start() {
  theme();
  here();
  stayInFrame();
  await ready;
  const opened = new Map();
  for (const [name, open] of rooms) {
    const host = document.getElementById(`${name}-here`);
    if (host) opened.set(name, open(host, model, model.head.sections[name]));
  }
  for (const button of document.querySelectorAll("[data-document]")) {
    button.hidden = false;
    button.addEventListener("click", () => opened.get("documents").open(Number(button.dataset.document)));
  }
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  document.querySelector("main").prepend(el("p", { class: "failure", role: "alert" },
    `This page could not unpack its model (${error.message}). It needs a browser of 2023 or later.`));
});
