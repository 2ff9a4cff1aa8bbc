/** Taking away what is seen: a menu of pictures, figures, numbers, and the page itself. */

import { el } from "./dom.js";
import { file } from "./api.js";
import { standalone } from "./embedded_trace.js";
import { requestBody } from "./traces.js";
import { state } from "./state.js";
import { addMessages, message } from "./messages.js";
import { showStatus } from "./status.js";
import { asCsv, named } from "./export_csv.js";
import { asPng, asSvg } from "./export_image.js";

addMessages({
  export_menu: ["Export", "साथ ले जाइए"],
  export_seen: ["Image of the view", "चित्र, जैसा दिख रहा है"],
  export_seen_svg: ["sharp at any size", "हर आकार में साफ़"],
  export_seen_png: ["twice the pixels", "दुगुने पिक्सेल"],
  export_figure: ["Figure for print", "छपाई के लिए चित्र"],
  export_figure_svg: ["text as outlines", "अक्षर रेखाओं के रूप में"],
  export_figure_png: ["216 dpi", "216 बिंदु प्रति इंच"],
  export_figure_pdf: ["for a paper", "शोधपत्र के लिए"],
  export_data: ["Numbers", "संख्याएँ"],
  export_csv: ["this table, for a spreadsheet", "यह सारणी, स्प्रेडशीट के लिए"],
  export_json: ["the complete trace, to replay", "पूरा अभिलेख, दोबारा देखने के लिए"],
  export_page: ["Page", "पृष्ठ"],
  export_html: ["one file; opens without a server", "एक फ़ाइल; बिना सर्वर के खुलती है"],
  export_no_picture: ["This view has no image to export.", "पृष्ठ पर अभी कोई चित्र नहीं है।"],
  export_no_table: ["This view has no table to export.", "पृष्ठ पर अभी कोई सारणी नहीं है।"],
  export_no_trace: ["Translate a sentence first.", "पहले किसी वाक्य का अनुवाद कीजिए।"],
  export_no_server: ["Needs `dhyan studio`; this page is a saved file.", "इसके लिए `dhyan studio` चाहिए; यह पृष्ठ एक फ़ाइल है।"],
  export_working: ["Exporting {0} …", "{0} बन रही है …"],
  export_saved: ["Saved {0}.", "{0} सहेज ली गई।"],
});

/**
 * @typedef {object} Taken what a view has to take away
 * @property {SVGElement | null} [picture]
 * @property {{values: number[][], rows: string[], columns: string[]} | null} [table]
 * @property {{text: string, translation: string, attention: {role: string}[]} | null} [trace]
 */

let taken = () => ({});

/** Where the view on the page says what it has to take away. @param {() => Taken} from */
export function setExportSource(from) {
  taken = from;
}

const about = (found) => found.trace?.text ?? state.text;
const described = (found) => ({ title: `${message(`view_${state.view}`)} · ${about(found)}`,
  text: found.trace?.translation ?? "", link: location.href });
const drawn = (suffix) => (found) => file(`/api/figure.${suffix}`, figure(found));

/** Every way out: why not, if there is none, and what is made. */
const GROUPS = [
  { name: "export_seen", lacks: (found) => !found.picture && "export_no_picture", ways: [
    ["svg", "export_seen_svg", async (found) => asSvg(found.picture, described(found))],
    ["png", "export_seen_png", (found) => asPng(found.picture, described(found))]] },
  { name: "export_figure", lacks: (found) => needsServer() || noTrace(found), ways: [
    ["svg", "export_figure_svg", drawn("svg")], ["png", "export_figure_png", drawn("png")],
    ["pdf", "export_figure_pdf", drawn("pdf")]] },
  { name: "export_data", ways: [
    ["csv", "export_csv", async (found) => new Blob([asCsv(found.table)], { type: "text/csv" }),
      (found) => !found.table && "export_no_table"],
    ["json", "export_json", async (found) =>
      new Blob([JSON.stringify(found.trace), "\n"], { type: "application/json" }), noTrace]] },
  { name: "export_page", lacks: (found) => needsServer() || noTrace(found), ways: [
    ["html", "export_html", () => file("/api/export.html", requestBody())]] },
];

const needsServer = () => standalone && "export_no_server";
function noTrace(found) {
  return !found.trace && "export_no_trace";
}

/** The attention that a view shows when the address names none; layer 0 is the last. */
const SHOWN = {
  translate: { role: "cross", layer: 0, head: "avg" },
  mask: { role: "decoder_self", layer: 1, head: "1" },
  heads: { role: "encoder_self", layer: 1, head: "1" },
};

/** The attention that the view shows, for the figure. */
function figure({ trace }) {
  const usual = SHOWN[state.view] ?? SHOWN.translate;
  const wanted = (state.view === "heads" && state.role) || usual.role;
  const role = trace.attention.some((block) => block.role === wanted) ? wanted : "cross";
  return { ...requestBody(), role, layer: state.layer || usual.layer, head: state.head || usual.head,
    words: state.unit === "word" };
}

/** Closes the menu, if it is open. */
let shut = null;

/** Open the menu below its button, or close it. */
export function openExport() {
  if (shut) return shut();
  const button = document.querySelector("#export");
  const found = taken() ?? {};
  const menu = el("div", { class: "export-menu", role: "menu", id: "export-menu",
    "aria-label": message("export_menu") }, ...GROUPS.map((one) => group(one, found, close)));
  const stop = new AbortController();

  function close(back = true) {
    shut = null;
    stop.abort();
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
    if (back) button.focus();
  }

  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", "export-menu");
  button.after(menu);
  place(menu, button);
  menu.addEventListener("keydown", (event) => pressed(event, menu, close));
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target) && !button.contains(event.target)) close(false);
  }, { signal: stop.signal });
  addEventListener("resize", () => close(false), { signal: stop.signal });
  menu.addEventListener("focusout", (event) => {
    const to = event.relatedTarget;
    if (to && to !== button && !menu.contains(to)) close(false);
  }, { signal: stop.signal });
  shut = close;
  items(menu)[0].focus();
}

const items = (menu) => [...menu.querySelectorAll("[role=menuitem]")];

function group({ name, lacks, ways }, found, close) {
  const heading = `${name}-title`;
  const whole = lacks?.(found);
  return el("div", { role: "group", "aria-labelledby": heading },
    el("p", { id: heading, class: "export-group", role: "presentation" }, message(name)),
    ...ways.map(([suffix, words, make, own]) => {
      const why = whole || own?.(found) || "";
      return el("div", { role: "menuitem", tabindex: -1, "data-way": `${name.slice(7)}-${suffix}`,
        "aria-disabled": Boolean(why), on: { click: () => {
          if (why) return showStatus(message(why));
          close();
          return take(suffix, found, make);
        } } },
      el("b", {}, suffix.toUpperCase()), " ", el("span", {}, message(why || words)));
    }));
}

/** Make a file and hand it over; the line below says how that went. */
async function take(suffix, found, make) {
  const name = named(state, found.trace, suffix);
  showStatus(message("export_working", name));
  try {
    hand(await make(found), name);
    showStatus(message("export_saved", name));
  } catch (error) {
    showStatus(error);
  }
}

function hand(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Below the button, inside the window. */
function place(menu, button) {
  const [own, box] = [menu.getBoundingClientRect(), button.getBoundingClientRect()];
  const left = Math.max(8, Math.min(box.left, innerWidth - own.width - 8));
  menu.style.left = `${left}px`;
  menu.style.top = `${box.bottom + 6}px`;
  menu.style.maxHeight = `${Math.max(160, innerHeight - box.bottom - 14)}px`;
}

/** Arrows walk, letters jump, Enter takes, Esc and Tab leave; no key goes on to the page. */
function pressed(event, menu, close) {
  event.stopPropagation();
  const all = items(menu);
  const at = all.indexOf(document.activeElement);
  const go = (to) => {
    event.preventDefault();
    all[(to + all.length) % all.length].focus();
  };
  switch (event.key) {
    case "ArrowDown": return go(at + 1);
    case "ArrowUp": return go(at - 1);
    case "Home": return go(0);
    case "End": return go(all.length - 1);
    case "Tab": return close(false);
    case "Escape":
      event.preventDefault();
      return close();
    case "Enter": case " ":
      event.preventDefault();
      return all[at]?.click();
    default: {
      const next = [...all.keys()].map((step) => (at + 1 + step) % all.length)
        .find((one) => event.key.length === 1 && all[one].textContent.toLowerCase()
          .startsWith(event.key.toLowerCase()));
      return next === undefined ? undefined : go(next);
    }
  }
}
