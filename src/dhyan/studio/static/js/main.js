/** Page frame: header, navigation, status line; opens the view of the address. */

import { el, setChildren } from "./dom.js";
import { keepFocus } from "./focus.js";
import { get, post, ApiError } from "./api.js";
import { setPalette } from "./colors.js";
import { state, set, isComparing, readAddress, listenToHistory, restrictViews, subscribe, ROOMS, roomOf, viewsOf } from "./state.js";
import { message, lang } from "./messages.js";
import { isStatusEmpty, showStatus } from "./status.js";
import { card, header } from "./header.js";
import { stateLink } from "./links.js";
import { lesson } from "./lesson_panel.js";
import { bindShortcuts } from "./keyboard.js";
import { setExportSource } from "./export.js";
import { sentenceFor, setExamples } from "./example_sentences.js";
import { noticeBox, addNotices } from "./notices.js";
import { taskVerb } from "./task_words.js";
import { hasModel, isReady, loadModel } from "./embedded_model.js";
import { standalone } from "./embedded_trace.js";

const main = document.querySelector("#view");
const WITH_SENTENCE = ["translate", "inside", "heads", "beam"]; // rooms
/** @type {Required<Pick<View, "close" | "update" | "exportData" | "showsSentence">> & {name: string}} */
const EMPTY = { name: "", close: () => {}, update: () => {}, exportData: () => ({}), showsSentence: () => true };
let currentView = EMPTY;
let openCount = 0;

async function start() {
  const corrected = readAddress();
  applyAppearance();
  const [models, colors, examples] = await Promise.all([get("/api/models"), get("/api/colors"), standalone && !hasModel ? [] : get("/api/examples")])
    .catch((error) => [null, showStatus(error)]);
  if (!models) return;
  await setExamples(examples);
  setPalette(colors);
  const saved = models.length > 0 && models.every((model) => model.saved);
  document.documentElement.toggleAttribute("data-saved", saved);
  document.documentElement.toggleAttribute("data-recorded", saved && models.every((model) => model.views.includes("beam")));
  document.documentElement.toggleAttribute("data-model", hasModel);
  const viewAvailable = !models.length || restrictViews(models.flatMap((model) => model.views));
  document.addEventListener("model-ready", () => {
    if (document.querySelector("#status").textContent === message("model_loading")) showStatus(message("ready"));
  });
  loadModel();
  header(models);
  chooseView();
  chooseSentence();
  renderNavigation();
  bindShortcuts();
  setExportSource(() => currentView.exportData());
  listenToHistory(reportCorrections);
  subscribe(changed);
  const reportMissing = () => showStatus(new ApiError(hasModel ? "server_only" : "trace_only"));
  document.addEventListener("view-unavailable", reportMissing);
  document.addEventListener("retranslate", showSentence);
  await show();
  if (hasModel && !isReady() && !state.text) showStatus(message("model_loading"));
  if (!viewAvailable) addNotices([message(hasModel ? "server_only" : "trace_only")]);
  reportCorrections(corrected);
  if (!state.text && state.model && !saved && !hasModel) post("/api/load", { model: state.model }).catch(() => {}); // ahead of the first sentence
}

/** Apply language, theme and title. */
function applyAppearance() {
  document.documentElement.lang = lang();
  document.documentElement.dataset.theme = state.theme;
  document.title = `${message(`view_${state.view}`)} · dhyan`;
  for (const element of document.querySelectorAll("[data-message]")) element.textContent = message(element.dataset.message ?? "");
}

function reportCorrections(corrected) {
  if (corrected.length) addNotices(corrected.map(([key, value]) => (key === "text" ? message("corrected_text", value.length) : message("corrected", key, value))));
}

/** In a room with a view for each kind of model, show the one for the selected model. */
function chooseView() {
  const views = viewsForModel(roomOf(state.view));
  if (!views.includes(state.view)) set({ view: views[0] }, { replace: true });
}

/** Without a sentence, a room that shows one begins with an example. */
function chooseSentence() {
  const model = card();
  if (!WITH_SENTENCE.includes(roomOf(state.view)) || !model || model.saved || state.text) return;
  const text = sentenceFor(model, "");
  if (text) set({ text }, { replace: true });
}

/** The views of a room that can show the selected model; all if none can, as each says what it needs. */
function viewsForModel(room) {
  const views = viewsOf(room);
  const suitable = views.filter((view) => card()?.views.includes(view));
  return suitable.length ? suitable : views;
}

/** The lesson of the view; that of Translate depends on the model. */
function lessonName() {
  if (viewName() !== "translate") return viewName();
  if (card()?.codecs) return "task";
  if (["none", "bottleneck"].includes(card()?.score ?? "")) return "one_vector";
  return (card()?.target_language ?? "hi") === "hi" ? "translate" : "word_order";
}

/** A sentence that was sent is shown: in Translate where the view has no place for it. */
function showSentence() {
  if (!currentView.showsSentence()) set({ view: "translate" }, { replace: true });
}

async function changed(keysChanged) {
  if (keysChanged.has("text") && !keysChanged.has("view") && !keysChanged.has("model")) showSentence();
  if (keysChanged.has("model") || keysChanged.has("view")) {
    chooseView();
    chooseSentence();
    renderNavigation();
  }
  if (keysChanged.has("language") || keysChanged.has("theme") || keysChanged.has("view")) applyAppearance();
  if (keysChanged.has("language") || keysChanged.has("theme")) {
    renderNavigation();
    await show({ reopen: true });
  } else if (currentView.name !== viewName()) {
    await show();
  } else {
    keepFocus(main, () => currentView.update(keysChanged));
    if (keysChanged.has("model")) lesson(lessonName());
  }
}

/** The view of the state; Translate has another one for a second model or sentence. */
const viewName = () => (state.view !== "translate" || !isComparing() ? state.view : state.model2 ? "compare" : "swap");

/** Open the view of the state; a module that loads after a newer request is dropped. */
async function show({ reopen = false } = {}) {
  if (currentView.name === viewName() && !reopen) return;
  const request = ++openCount;
  const module = await import(`./views/${state.view}.js`);
  if (request !== openCount) return;
  currentView.close();
  showStatus("");
  /** @type {View} */
  const view = module.open();
  currentView = { ...EMPTY, ...view, name: viewName() };
  setChildren(main, noticeBox, view.node);
  lesson(lessonName());
  if (isStatusEmpty() && !state.text) showStatus(message(state.model ? "ready" : "no_model"));
}

/** The rooms, and the views of the current one. */
function renderNavigation() {
  const current = roomOf(state.view);
  const rooms = Object.keys(ROOMS).filter((room) => viewsOf(room).length);
  const views = viewsForModel(current);
  setChildren(document.querySelector("#navigation"), el("h2", { id: "navigation-title", class: "visually-hidden" }, message("rooms")),
    el("ul", { class: "rooms" }, ...rooms.map((room) => navigationLink(room === "translate" ? taskVerb(card()) : message(`room_${room}`), room === current ? state.view : viewsForModel(room)[0], room === current))),
    views.length > 1 && el("ul", { class: "room-views", "aria-label": message(`room_${current}`) },
      ...views.map((view) => navigationLink(message(`view_${view}`), view, view === state.view))));
  for (const list of document.querySelectorAll("#navigation ul")) {
    const link = list.querySelector("[aria-current]");
    if (link) list.scrollLeft = link.offsetLeft - list.clientWidth / 3;
  }
}

function navigationLink(text, view, current) {
  const link = stateLink({ view }, text, { "aria-current": current ? "page" : null });
  link.addEventListener("click", (event) => {
    if (!event.defaultPrevented) return;
    main.focus({ preventScroll: true });
    scrollTo({ top: 0, behavior: "instant" });
  });
  return el("li", {}, link);
}

start();
