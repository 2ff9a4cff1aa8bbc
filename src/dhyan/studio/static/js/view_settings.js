/** Menu of the view settings: units, colours, special tokens, numbers, Latin letters. */

import { el } from "./dom.js";
import { segments, toggle } from "./controls.js";
import { message } from "./messages.js";
import { popover } from "./popover.js";
import { showsSpecials } from "./state.js";

/**
 * The button, its panel, and `sync` for a state that was changed elsewhere.
 * @param {{unit?: boolean, scale?: boolean, numbers?: boolean, latin?: boolean}} offered
 */
export function viewSettings({ unit = true, scale = true, numbers = true, latin = false }) {
  const row = (label, control) => el("div", { class: "setting" }, el("span", { "aria-hidden": "true" }, label), control);
  const settings = [
    unit && [message("unit"), segments(message("unit"), "unit", [["word", message("words")], ["token", message("tokens")]])],
    scale && [message("scale"), segments(message("scale"), "scale", [["auto", message("scale_auto")], ["linear", message("linear")], ["sqrt", message("square_root")]])],
    [message("specials_row"), toggle(message("specials"), "specials", { isOn: showsSpecials })],
    numbers && [message("numbers_row"), toggle(message("translate_numbers"), "numbers")],
    latin && [message("latin_row"), toggle(message("translate_latin"), "transliterate")],
  ].filter((setting) => setting !== false);
  const { button, panel } = popover("view-settings", message("view_settings"), settings.map(([label, control]) => row(label, control)));
  return { button, panel, sync: () => settings.forEach(([, control]) => control.sync()) };
}
