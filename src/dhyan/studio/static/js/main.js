/** Page frame: header, navigation, status line; opens the view of the address. */

import { el, setChildren } from "./dom.js";
import { get, post, ApiError } from "./api.js";
import { setPalette } from "./colors.js";
import { state, set, readAddress, listenToHistory, restrictViews, subscribe, address, VIEWS } from "./state.js";
import { message, hasMessage, lang } from "./messages.js";
import { isStatusEmpty, showStatus } from "./status.js";
import { header } from "./header.js";
import { lesson } from "./lesson_panel.js";
import { bindShortcuts } from "./keyboard.js";
import { setExportSource } from "./export.js";
import { setExamples } from "./example_sentences.js";
import { noticeBox, addNotices } from "./notices.js";
import { hasModel, isReady, loadModel } from "./embedded_model.js";
import { standalone } from "./embedded_trace.js";

const main = document.querySelector("#view");
const EMPTY = { name: "", close: () => {}, update: () => {}, exportData: () => ({}) };
let currentView = EMPTY;
let openCount = 0;

async function start() {
  const corrected = readAddress();
  applyAppearance();
  const [models, colors, examples] = await Promise.all([get("/api/models"), get("/api/colors"), standalone && !hasModel ? [] : get("/api/examples")])
    .catch((error) => [null, showStatus(error)]);
  if (!models) return;
  setExamples(examples);
  setPalette(colors);
  const saved = models.length > 0 && models.every((model) => model.saved);
  document.documentElement.toggleAttribute("data-saved", saved);
  document.documentElement.toggleAttribute("data-model", hasModel);
  const views = models.flatMap((model) => model.views);
  const viewAvailable = !models.length || models.some((model) => !model.views.length) || restrictViews(views);
  document.addEventListener("model-ready", () => {
    if (document.querySelector("#status").textContent === message("model_loading")) showStatus(message("ready"));
  });
  loadModel();
  if (hasModel && !state.text && examples.length) set({ text: examples[0].text }, { replace: true });
  header(models);
  renderNavigation();
  bindShortcuts();
  setExportSource(() => currentView.exportData());
  listenToHistory(reportCorrections);
  subscribe(changed);
  const reportMissing = () => showStatus(new ApiError(hasModel ? "server_only" : "trace_only"));
  document.addEventListener("view-unavailable", reportMissing);
  await show();
  if (hasModel && !isReady() && !state.text) showStatus(message("model_loading"));
  if (!viewAvailable) reportMissing();
  reportCorrections(corrected);
  if (!state.text && state.model && !saved && !hasModel) post("/api/load", { model: state.model }).catch(() => {}); // ahead of the first sentence
}

/** Apply language, theme and title. */
function applyAppearance() {
  document.documentElement.lang = lang();
  document.documentElement.dataset.theme = state.theme;
  document.title = `${message(`view_${state.view}`)} · dhyan`;
  for (const element of document.querySelectorAll("[data-message]")) element.textContent = message(element.dataset.message);
}

function reportCorrections(corrected) {
  if (corrected.length) addNotices(corrected.map(([key, value]) => (key === "text" ? message("corrected_text", value.length) : message("corrected", key, value))));
}

async function changed(keysChanged) {
  if (keysChanged.has("language") || keysChanged.has("theme") || keysChanged.has("view")) applyAppearance();
  if (keysChanged.has("language") || keysChanged.has("theme")) {
    renderNavigation();
    await show({ reopen: true });
  } else if (keysChanged.has("view")) {
    renderNavigation();
    await show();
  } else {
    currentView.update(keysChanged);
  }
}

/** Open the view of the state; a module that loads after a newer request is dropped. */
async function show({ reopen = false } = {}) {
  if (currentView.name === state.view && !reopen) return;
  const request = ++openCount;
  const module = await import(`./views/${state.view}.js`);
  if (request !== openCount) return;
  currentView.close();
  showStatus("");
  const view = module.open();
  currentView = { ...EMPTY, ...view, name: state.view };
  setChildren(main, noticeBox, view.node);
  lesson(module.lesson);
  if (isStatusEmpty() && !state.text) showStatus(message(state.model ? "ready" : "no_model"));
}

function renderNavigation() {
  const links = VIEWS.filter((view) => hasMessage(`view_${view}`)).map((view) => el("li", {},
    el("a", { href: address({ ...state, view }), "aria-current": view === state.view ? "page" : null,
      on: { click: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        set({ view });
        main.focus();
      } } }, message(`view_${view}`))));
  setChildren(document.querySelector("#navigation"), el("h2", { id: "navigation-title", class: "visually-hidden" }, message("views")),
    el("ul", {}, ...links));
  const currentLink = document.querySelector("#navigation [aria-current]");
  if (currentLink) currentLink.closest("#navigation").scrollLeft = currentLink.offsetLeft - currentLink.closest("#navigation").clientWidth / 3;
}

start();
