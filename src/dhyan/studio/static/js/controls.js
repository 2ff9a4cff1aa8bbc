/** Form controls bound to a key of the state. */

import { el } from "./dom.js";
import { state, set } from "./state.js";

/**
 * Segmented control: radio buttons side by side.
 * @param {string} label @param {string} key of the state @param {string[][]} options [value, label] of each
 * @param {{current?: () => string}} [more] `current` is the value to show where the view chooses it
 */
export function segments(label, key, options, { current = () => String(state[key]) } = {}) {
  const buttons = options.map(([value, label]) => el("button", { type: "button", role: "radio",
    "aria-checked": current() === value, tabindex: current() === value ? 0 : -1,
    "data-value": value, on: { click: () => choose(value) } }, label));
  function show(value, focus = false) {
    for (const button of buttons) {
      const selected = button.dataset.value === value;
      button.setAttribute("aria-checked", String(selected));
      button.setAttribute("tabindex", selected ? "0" : "-1");
      if (selected && focus) button.focus();
    }
  }
  function choose(value, focus = false) {
    show(value, focus);
    set({ [key]: typeof state[key] === "number" ? Number(value) : value }, { replace: true });
  }
  const keydown = (event) => {
    const offset = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!offset) return;
    event.preventDefault();
    const index = buttons.findIndex((button) => button.getAttribute("aria-checked") === "true");
    choose(buttons[(index + offset + buttons.length) % buttons.length].dataset.value, true);
  };
  if (!options.some(([value]) => value === current())) buttons[0]?.setAttribute("tabindex", "0");
  const node = el("div", { class: "segments", role: "radiogroup", "aria-label": label, on: { keydown } }, ...buttons);
  return Object.assign(node, { sync: () => show(current()) });
}

/** Drop-down list. @param {string} label @param {string} key @param {string[][]} options [value, label] of each */
export function list(label, key, options, { replace = true } = {}) {
  const select = el("select", { "data-key": key, on: { change: (event) => {
    const value = event.target.value;
    set({ [key]: typeof state[key] === "number" ? Number(value) : value }, { replace });
  } } }, ...options.map(([value, label]) =>
    el("option", { value, selected: String(state[key]) === value }, label)));
  const node = el("label", { class: "field" }, el("span", {}, label), select);
  return Object.assign(node, { sync() { select.value = String(state[key]); } });
}

/** Slider. @param {string} label @param {string} key @param {{min: number, max: number, step?: number}} range
 * @param {(value: number) => string} [format] */
export function slider(label, key, { min, max, step = 1 }, format = String) {
  const output = el("output", { class: "number" }, format(state[key]));
  const input = el("input", { type: "range", min, max, step, "data-key": key,
    "aria-valuetext": format(state[key]), on: { input: () => {
      showValue(Number(input.value));
      set({ [key]: Number(input.value) }, { replace: true });
    } } });
  input.value = String(state[key]);
  function showValue(value) {
    output.textContent = format(value);
    input.setAttribute("aria-valuetext", format(value));
  }
  const node = el("label", { class: "field slider" }, el("span", {}, label), input, output);
  return Object.assign(node, {
    /** Set the largest value. @param {number} max */
    limit(max) {
      input.max = String(max);
    },
    /** Show the value of the state after a change from elsewhere. */
    sync() {
      input.value = String(state[key]);
      showValue(state[key]);
    },
  });
}

/** Toggle button ("1" or "0" in the state); `isOn` where the view chooses the default. @param {string} label @param {string} key */
export function toggle(label, key, { isOn = () => state[key] === "1" } = {}) {
  const button = el("button", { type: "button", "aria-pressed": isOn(), "data-key": key,
    on: { click: () => {
      const value = isOn() ? "0" : "1";
      button.setAttribute("aria-pressed", String(value === "1"));
      set({ [key]: value }, { replace: true });
    } } }, label);
  return Object.assign(button, { sync: () => button.setAttribute("aria-pressed", String(isOn())) });
}

/** A row of controls. */
export const controls = (...children) => el("div", { class: "controls" }, ...children);
