/** Things to choose with, bound to the state: each shows what is chosen and changes it. */

import { el } from "./dom.js";
import { state, set } from "./state.js";

/**
 * A few words side by side, one of them chosen.
 * @param {string} label @param {string} key of the state @param {[string, string][]} options
 */
export function segments(label, key, options) {
  const buttons = options.map(([value, words]) => el("button", { type: "button", role: "radio",
    "aria-checked": String(state[key]) === value, tabindex: String(state[key]) === value ? 0 : -1,
    "data-value": value, on: { click: () => choose(value) } }, words));
  function show(value, focus = false) {
    for (const button of buttons) {
      const own = button.dataset.value === value;
      button.setAttribute("aria-checked", String(own));
      button.setAttribute("tabindex", own ? "0" : "-1");
      if (own && focus) button.focus();
    }
  }
  function choose(value, focus = false) {
    show(value, focus);
    set({ [key]: typeof state[key] === "number" ? Number(value) : value }, { quiet: true });
  }
  const keydown = (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = buttons.findIndex((button) => button.getAttribute("aria-checked") === "true");
    choose(buttons[(at + by + buttons.length) % buttons.length].dataset.value, true);
  };
  if (!options.some(([value]) => value === String(state[key]))) buttons[0]?.setAttribute("tabindex", "0");
  const node = el("div", { class: "segments", role: "radiogroup", "aria-label": label, on: { keydown } }, ...buttons);
  return Object.assign(node, { follow: () => show(String(state[key])) });
}

/** One of many, by a list that opens. @param {string} label @param {string} key @param {[string, string][]} options */
export function list(label, key, options, { quiet = true } = {}) {
  const select = el("select", { "data-key": key, on: { change: (event) => {
    const value = event.target.value;
    set({ [key]: typeof state[key] === "number" ? Number(value) : value }, { quiet });
  } } }, ...options.map(([value, words]) =>
    el("option", { value, selected: String(state[key]) === value }, words)));
  const node = el("label", { class: "field" }, el("span", {}, label), select);
  return Object.assign(node, { follow() { select.value = String(state[key]); } });
}

/** A number on a line. @param {string} label @param {string} key @param {{least: number, most: number, step?: number}} range */
export function slider(label, key, { least, most, step = 1 }, written = String) {
  const shown = el("output", { class: "number" }, written(state[key]));
  const input = el("input", { type: "range", min: least, max: most, step, "data-key": key,
    "aria-valuetext": written(state[key]), on: { input: () => {
      fill(Number(input.value));
      set({ [key]: Number(input.value) }, { quiet: true });
    } } });
  input.value = String(state[key]);
  function fill(value) {
    shown.textContent = written(value);
    input.setAttribute("aria-valuetext", written(value));
  }
  const node = el("label", { class: "field slider" }, el("span", {}, label), input, shown);
  /** Follow a change that came from elsewhere. */
  return Object.assign(node, { follow() {
    input.value = String(state[key]);
    fill(state[key]);
  } });
}

/** On or off ("1" or "0" in the state). @param {string} label @param {string} key */
export function toggle(label, key) {
  const button = el("button", { type: "button", "aria-pressed": state[key] === "1", "data-key": key,
    on: { click: () => {
      const now = state[key] === "1" ? "0" : "1";
      button.setAttribute("aria-pressed", String(now === "1"));
      set({ [key]: now }, { quiet: true });
    } } }, label);
  return Object.assign(button, { follow: () => button.setAttribute("aria-pressed", String(state[key] === "1")) });
}

/** A row of controls. */
export const controls = (...children) => el("div", { class: "controls" }, ...children);
