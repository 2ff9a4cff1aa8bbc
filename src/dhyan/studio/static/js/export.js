/** Export menu: image of the view, figure for print, data, and the page as one file. */

import { el } from "./dom.js";
import { fetchFile } from "./api.js";
import { standalone } from "./embedded_trace.js";
import { requestBody } from "./traces.js";
import { state } from "./state.js";
import { message } from "./messages.js";
import { showStatus } from "./status.js";
import { asCsv, fileName } from "./export_csv.js";
import { asPng, asSvg } from "./export_image.js";

/**
 * @typedef {(view: ExportData) => string | false} Reason why a format is unavailable, a message key; false if it is available
 * @typedef {[suffix: string, label: string, make: (view: ExportData) => Promise<Blob>, unavailable?: Reason]} Format
 * @typedef {{name: string, server?: boolean, unavailable?: Reason, formats: Format[]}} FormatGroup
 */

/** @type {() => ExportData} */
let exportSource = () => ({});

/** Set the function that returns the export data of the current view. @param {() => ExportData} source */
export function setExportSource(source) {
  exportSource = source;
}

const sentenceOf = (view) => view.trace?.text ?? state.text;
const metadata = (view) => ({ title: [message(`view_${state.view}`), sentenceOf(view)].filter(Boolean).join(" · "),
  text: view.trace?.translation ?? "", link: location.href });
const figureFile = (suffix) => (view) => fetchFile(`/api/figure.${suffix}`, figure(view));

/** Formats by group, with the reason where one is unavailable; a page without a server does not offer its formats.
 * @type {FormatGroup[]} */
const GROUPS = [
  { name: "export_view", unavailable: (view) => !view.picture && "export_no_picture", formats: [
    ["svg", "export_view_svg", async (view) => asSvg(/** @type {Element} */ (view.picture), metadata(view))],
    ["png", "export_view_png", (view) => asPng(/** @type {Element} */ (view.picture), metadata(view))]] },
  { name: "export_figure", server: true, unavailable: noTrace, formats: [
    ["svg", "export_figure_svg", figureFile("svg")], ["png", "export_figure_png", figureFile("png")],
    ["pdf", "export_figure_pdf", figureFile("pdf")]] },
  { name: "export_data", formats: [
    ["csv", "export_csv", async (view) => new Blob([asCsv(/** @type {NumberTable} */ (view.table))], { type: "text/csv" }),
      (view) => !view.table && "export_no_table"],
    ["json", "export_json", async (view) =>
      new Blob([JSON.stringify(view.trace), "\n"], { type: "application/json" }), noTrace]] },
  { name: "export_page", server: true, unavailable: noTrace, formats: [
    ["html", "export_html", () => fetchFile("/api/export.html", requestBody())]] },
];

/** @type {Reason} */
function noTrace(view) {
  return !view.trace && (view.picture ? "export_elsewhere" : "export_no_trace");
}

/** The attention block a view shows by default; layer 0 is the last. */
const DEFAULT_ATTENTION = {
  translate: { role: "cross", layer: 0, head: "avg" },
  head: { role: "cross", layer: 0, head: "1" },
  heads: { role: "encoder_self", layer: 1, head: "1" },
};

/** Request body of the figure: the attention that the view shows. */
function figure({ trace, of_task = false }) {
  const defaults = DEFAULT_ATTENTION[state.view] ?? DEFAULT_ATTENTION.translate;
  const requested = (["heads", "head"].includes(state.view) && state.role) || defaults.role;
  const role = trace.attention.some((block) => block.role === requested) ? requested : "cross";
  return { ...requestBody(), role, layer: state.layer || defaults.layer, head: state.head || defaults.head,
    words: state.unit === "word", of_task };
}

/** Closes the open menu; null when it is closed. @type {((refocus?: boolean) => void) | null} */
let closeMenu = null;

/** Open the menu below its button, or close it. */
export function openExport() {
  if (closeMenu) return closeMenu();
  const button = document.querySelector("#export");
  const view = exportSource() ?? {};
  const menu = el("div", { class: "export-menu", role: "menu", id: "export-menu",
    "aria-label": message("export_menu") },
  ...GROUPS.filter((group) => !(standalone && group.server)).map((group) => groupElement(group, view, close)));
  const stop = new AbortController();

  function close(refocus = true) {
    closeMenu = null;
    stop.abort();
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
    if (refocus) button.focus();
  }

  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", "export-menu");
  button.after(menu);
  positionMenu(menu, button);
  menu.addEventListener("keydown", (event) => handleKey(event, menu, close));
  document.addEventListener("pointerdown", (event) => {
    if (![menu, button].some((element) => event.composedPath().includes(element))) close(false);
  }, { signal: stop.signal });
  addEventListener("resize", () => close(false), { signal: stop.signal });
  menu.addEventListener("focusout", (event) => {
    const target = event.relatedTarget;
    if (target instanceof Node && target !== button && !menu.contains(target)) close(false);
  }, { signal: stop.signal });
  closeMenu = close;
  items(menu)[0].focus();
}

/** @param {Element} menu @returns {HTMLElement[]} */
const items = (menu) => [...menu.querySelectorAll("[role=menuitem]")].filter((item) => item instanceof HTMLElement);

/** @param {FormatGroup} group @param {ExportData} view @param {() => void} close */
function groupElement({ name, unavailable, formats }, view, close) {
  const heading = `${name}-title`;
  const groupReason = unavailable?.(view);
  return el("div", { role: "group", "aria-labelledby": heading },
    el("p", { id: heading, class: "export-group", role: "presentation" }, message(name)),
    ...formats.map(([suffix, words, make, formatReason]) => {
      const reason = groupReason || formatReason?.(view) || "";
      return el("div", { role: "menuitem", tabindex: -1, "data-format": `${name.slice(7)}-${suffix}`,
        "aria-disabled": Boolean(reason), on: { click: () => {
          if (reason) return showStatus(message(reason));
          close();
          return exportFile(suffix, view, make);
        } } },
      el("b", {}, suffix.toUpperCase()), " ", el("span", {}, message(reason || words)));
    }));
}

/** Create a file, download it, and report in the status line. */
async function exportFile(suffix, view, make) {
  const name = fileName(state, view.trace, suffix);
  showStatus(message("export_working", name));
  try {
    download(await make(view), name);
    showStatus(message("export_saved", name));
  } catch (error) {
    showStatus(error);
  }
}

function download(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Place the menu below its button, inside the window. */
function positionMenu(menu, button) {
  const [menuBox, buttonBox] = [menu.getBoundingClientRect(), button.getBoundingClientRect()];
  const left = Math.max(8, Math.min(buttonBox.left, innerWidth - menuBox.width - 8));
  menu.style.left = `${left}px`;
  menu.style.top = `${buttonBox.bottom + 6}px`;
  menu.style.maxHeight = `${Math.max(160, innerHeight - buttonBox.bottom - 14)}px`;
}

/** Arrow keys move, letters jump, Enter exports, Esc and Tab close; no key reaches the page.
 * @param {KeyboardEvent} event @param {Element} menu @param {(refocus?: boolean) => void} close */
function handleKey(event, menu, close) {
  event.stopPropagation();
  const entries = items(menu);
  const index = entries.findIndex((entry) => entry === document.activeElement);
  const focusItem = (target) => {
    event.preventDefault();
    entries[(target + entries.length) % entries.length].focus();
  };
  switch (event.key) {
    case "ArrowDown": return focusItem(index + 1);
    case "ArrowUp": return focusItem(index - 1);
    case "Home": return focusItem(0);
    case "End": return focusItem(entries.length - 1);
    case "Tab": return close(false);
    case "Escape":
      event.preventDefault();
      return close();
    case "Enter": case " ":
      event.preventDefault();
      return entries[index]?.click();
    default: {
      const next = [...entries.keys()].map((step) => (index + 1 + step) % entries.length)
        .find((candidate) => event.key.length === 1 && entries[candidate].textContent.toLowerCase()
          .startsWith(event.key.toLowerCase()));
      return next === undefined ? undefined : focusItem(next);
    }
  }
}
