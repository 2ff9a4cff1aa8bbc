/** Page frame: header, navigation, status line; opens the view of the address. */

import { el, fill } from "./dom.js";
import { get, Problem } from "./api.js";
import { setPalette } from "./colors.js";
import { state, set, readAddress, listenToHistory, restrictViews, subscribe, address, VIEWS } from "./state.js";
import { message, hasMessage, lang } from "./messages.js";
import { isStatusEmpty, showStatus } from "./status.js";
import { header } from "./header.js";
import { lesson } from "./lesson_panel.js";
import { keys } from "./keyboard.js";
import { setExportSource } from "./export.js";
import { pollTrainingStatus } from "./training_status.js";

const main = document.querySelector("#view");
const EMPTY = { name: "", close: () => {}, update: () => {}, exportData: () => ({}) };
let currentView = EMPTY;
let openCount = 0;

async function start() {
  const corrected = readAddress();
  applyAppearance();
  const [models, colours] = await Promise.all([get("/api/models"), get("/api/colours")])
    .catch((error) => [null, showStatus(error)]);
  if (!models) return;
  setPalette(colours);
  const saved = models.length > 0 && models.every((model) => model.saved);
  document.documentElement.toggleAttribute("data-saved", saved);
  const viewAvailable = !saved || restrictViews(models.flatMap((model) => model.views));
  header(models);
  rail();
  keys();
  setExportSource(() => currentView.exportData());
  listenToHistory(notice);
  subscribe(changed);
  const reportMissing = () => showStatus(new Problem("alone"));
  document.addEventListener("missing", reportMissing);
  await show();
  if (!viewAvailable) reportMissing();
  notice(corrected);
  if (!saved) pollTrainingStatus();
}

/** Apply language, theme and title. */
function applyAppearance() {
  document.documentElement.lang = lang();
  document.documentElement.dataset.theme = state.theme;
  document.title = `${message(`view_${state.view}`)} · dhyan`;
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = message(element.dataset.say);
}

function notice(corrected) {
  for (const [key, value] of corrected) showStatus(message("mended", key, value));
}

async function changed(keysChanged) {
  if (keysChanged.has("language") || keysChanged.has("theme") || keysChanged.has("view")) applyAppearance();
  if (keysChanged.has("language") || keysChanged.has("theme")) {
    rail();
    await show({ again: true });
  } else if (keysChanged.has("view")) {
    rail();
    await show();
  } else {
    currentView.update(keysChanged);
  }
}

/** Open the view of the state; a module that loads after a newer request is dropped. */
async function show({ again = false } = {}) {
  if (currentView.name === state.view && !again) return;
  const ticket = ++openCount;
  const module = await import(`./views/${state.view}.js`);
  if (ticket !== openCount) return;
  currentView.close();
  showStatus("");
  const view = module.open();
  currentView = { ...EMPTY, ...view, name: state.view };
  fill(main, view.node);
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
  const currentLink = document.querySelector("#rail [aria-current]");
  if (currentLink) currentLink.closest("#rail").scrollLeft = currentLink.offsetLeft - currentLink.closest("#rail").clientWidth / 3;
}

start();
