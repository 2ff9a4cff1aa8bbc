/** The page's frame: header, rail, status line; it shows the view the address names. */

import { el, fill } from "./dom.js";
import { get, Problem } from "./api.js";
import { take } from "./colour.js";
import { state, set, read, listen, offer, subscribe, address, VIEWS } from "./state.js";
import { say, has, lang } from "./words.js";
import { silent, tellOf } from "./tell.js";
import { header } from "./header.js";
import { lesson } from "./lesson.js";
import { keys } from "./keys.js";
import { exporting } from "./export.js";
import { watchComing } from "./coming.js";

const main = document.querySelector("#view");
const EMPTY = { name: "", close: () => {}, update: () => {}, taken: () => ({}) };
let shown = EMPTY;
let opening = 0;

async function begin() {
  const mended = read();
  look();
  const [models, colours] = await Promise.all([get("/api/models"), get("/api/colours")])
    .catch((error) => [null, tellOf(error)]);
  if (!models) return;
  take(colours);
  const saved = models.length > 0 && models.every((one) => one.saved);
  document.documentElement.toggleAttribute("data-saved", saved);
  const here = !saved || offer(models.flatMap((one) => one.views));
  header(models);
  rail();
  keys();
  exporting(() => shown.taken());
  listen(notice);
  subscribe(changed);
  const missing = () => tellOf(new Problem("alone"));
  document.addEventListener("missing", missing);
  await show();
  if (!here) missing();
  notice(mended);
  if (!saved) watchComing();
}

/** Language and colours of the whole page. */
function look() {
  document.documentElement.lang = lang();
  document.documentElement.dataset.theme = state.th;
  document.title = `${say(`view_${state.view}`)} · dhyan`;
  for (const one of document.querySelectorAll("[data-say]")) one.textContent = say(one.dataset.say);
}

function notice(mended) {
  for (const [key, value] of mended) tellOf(say("mended", key, value));
}

async function changed(keysChanged) {
  if (keysChanged.has("ui") || keysChanged.has("th") || keysChanged.has("view")) look();
  if (keysChanged.has("ui") || keysChanged.has("th")) {
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
  tellOf("");
  const made = module.open();
  shown = { ...EMPTY, ...made, name: state.view };
  fill(main, made.node);
  lesson(module.lesson);
  if (silent() && !state.q) tellOf(say("ready"));
}

function rail() {
  const links = VIEWS.filter((view) => has(`view_${view}`)).map((view) => el("li", {},
    el("a", { href: address({ ...state, view }), "aria-current": view === state.view ? "page" : null,
      on: { click: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        set({ view });
        main.focus();
      } } }, say(`view_${view}`))));
  fill(document.querySelector("#rail"), el("h2", { id: "rail-title", class: "unseen" }, say("views")),
    el("ul", {}, ...links));
  const here = document.querySelector("#rail [aria-current]");
  if (here) here.closest("#rail").scrollLeft = here.offsetLeft - here.closest("#rail").clientWidth / 3;
}

begin();
