/** The page's frame: header, rail, status line; it shows the view the address names. */

import { el, fill } from "./dom.js";
import { get, Problem } from "./api.js";
import { setPalette } from "./colors.js";
import { state, set, read, listen, restrictViews, subscribe, address, VIEWS } from "./state.js";
import { message, hasMessage, lang } from "./messages.js";
import { isStatusEmpty, showStatus } from "./status.js";
import { header } from "./header.js";
import { lesson } from "./lesson_panel.js";
import { keys } from "./keyboard.js";
import { setExportSource } from "./export.js";
import { pollTrainingStatus } from "./training_status.js";

const main = document.querySelector("#view");
const EMPTY = { name: "", close: () => {}, update: () => {}, taken: () => ({}) };
let shown = EMPTY;
let opening = 0;

async function begin() {
  const mended = read();
  look();
  const [models, colours] = await Promise.all([get("/api/models"), get("/api/colours")])
    .catch((error) => [null, showStatus(error)]);
  if (!models) return;
  setPalette(colours);
  const saved = models.length > 0 && models.every((model) => model.saved);
  document.documentElement.toggleAttribute("data-saved", saved);
  const here = !saved || restrictViews(models.flatMap((model) => model.views));
  header(models);
  rail();
  keys();
  setExportSource(() => shown.taken());
  listen(notice);
  subscribe(changed);
  const missing = () => showStatus(new Problem("alone"));
  document.addEventListener("missing", missing);
  await show();
  if (!here) missing();
  notice(mended);
  if (!saved) pollTrainingStatus();
}

/** Language and colours of the whole page. */
function look() {
  document.documentElement.lang = lang();
  document.documentElement.dataset.theme = state.theme;
  document.title = `${message(`view_${state.view}`)} · dhyan`;
  for (const one of document.querySelectorAll("[data-say]")) one.textContent = message(one.dataset.say);
}

function notice(mended) {
  for (const [key, value] of mended) showStatus(message("mended", key, value));
}

async function changed(keysChanged) {
  if (keysChanged.has("language") || keysChanged.has("theme") || keysChanged.has("view")) look();
  if (keysChanged.has("language") || keysChanged.has("theme")) {
    rail();
    await show({ again: true });
  } else if (keysChanged.has("view")) {
    rail();
    await show();
  } else {
    shown.update(keysChanged);
  }
}

/** Open the view of the state; one that comes too late is not shown. */
async function show({ again = false } = {}) {
  if (shown.name === state.view && !again) return;
  const turn = ++opening;
  const module = await import(`./views/${state.view}.js`);
  if (turn !== opening) return;
  shown.close();
  showStatus("");
  const made = module.open();
  shown = { ...EMPTY, ...made, name: state.view };
  fill(main, made.node);
  lesson(module.lesson);
  if (isStatusEmpty() && !state.text) showStatus(message("ready"));
}

function rail() {
  const links = VIEWS.filter((view) => hasMessage(`view_${view}`)).map((view) => el("li", {},
    el("a", { href: address({ ...state, view }), "aria-current": view === state.view ? "page" : null,
      on: { click: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        set({ view });
        main.focus();
      } } }, message(`view_${view}`))));
  fill(document.querySelector("#rail"), el("h2", { id: "rail-title", class: "unseen" }, message("views")),
    el("ul", {}, ...links));
  const here = document.querySelector("#rail [aria-current]");
  if (here) here.closest("#rail").scrollLeft = here.offsetLeft - here.closest("#rail").clientWidth / 3;
}

begin();
