/** The sentence above, the translation below, and lines between the word looked at and its words. */

import { el, fill, svg } from "../../dom.js";
import { weight as paint, ink } from "../../colors.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";

const LEAST = 0.03; // weights that get a line
const MOST = 40; // words of a sentence between whose lines one still sees

/**
 * @param {{look: (row: number | null, column: number | null, how: {hover: boolean}) => void,
 *   leave: () => void}} hear
 */
export function sentencePair(hear) {
  const source = el("p", { class: "pair-line pair-source", role: "group", "aria-label": message("translate_source") });
  const target = el("p", { class: "pair-line pair-target", role: "group", "aria-label": message("translate_target") });
  const lines = svg("svg", { class: "pair-lines", "aria-hidden": "true" });
  const node = el("div", { class: "pair" }, lines, source, target);
  let [above, below, places, shown] = [[], [], null, null];

  function word(one, at, side, chance) {
    const place = side === "target" ? [at, null] : [null, at];
    return el("button", { type: "button", class: `pair-word${one.faint ? " faint" : ""}`, lang: one.lang,
      tabindex: at ? -1 : 0, title: one.note, on: {
        focus: (event) => event.target.matches(":focus-visible") && hear.look(...place, { hover: false }),
        click: () => hear.look(...place, { hover: false }),
        pointerenter: () => hear.look(...place, { hover: true }),
        pointerleave: hear.leave } },
    el("span", { class: "pair-text" }, one.text),
    one.under && el("span", { class: "pair-under", lang: "hi-Latn" }, one.under),
    chance !== undefined && el("span", { class: "pair-chance", "aria-hidden": "true" },
      el("span", { style: { width: `${100 * chance}%` } })));
  }

  /** Where words stand is read once, and again when the width changes. */
  function measured() {
    if (places) return places;
    const box = node.getBoundingClientRect();
    const middle = (one, side) => {
      const own = one.getBoundingClientRect();
      return [own.left + own.width / 2 - box.left, (side === "above" ? own.bottom : own.top) - box.top];
    };
    places = [below.map((one) => middle(one, "below")), above.map((one) => middle(one, "above"))];
    return places;
  }

  function paintLine(words, weights, scale) {
    words.forEach((one, at) => {
      const ground = weights ? paint(weights[at], scale) : "";
      one.style.setProperty("background-color", ground);
      one.style.setProperty("color", ground && ink(ground));
    });
  }

  function look(row, column, seen, scale) {
    shown = [row, column, seen, scale];
    const byRow = row !== null;
    const weights = byRow ? seen.values[row] : seen.values.map((line) => line[column]);
    paintLine(above, byRow ? weights : null, scale);
    paintLine(below, byRow ? null : weights, scale);
    below.forEach((one, at) => one.classList.toggle("here", at === row));
    above.forEach((one, at) => one.classList.toggle("here", !byRow && at === column));
    if (above.length > MOST) return;
    const [targets, sources] = measured();
    fill(lines, weights.map((value, at) => {
      if (value < LEAST) return null;
      const [x, y] = sources[byRow ? at : column];
      const [to, end] = targets[byRow ? row : at];
      const bend = (end - y) / 2;
      return svg("path", { d: `M${x} ${y} C${x} ${y + bend} ${to} ${end - bend} ${to} ${end}`,
        "stroke-width": (1 + 9 * value).toFixed(2), "stroke-opacity": (0.25 + 0.65 * value).toFixed(2) });
    }));
  }

  function walk(words, other) {
    return (event) => {
      const at = words().indexOf(event.target.closest("button"));
      const by = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: words().length - 1 }[event.key];
      const next = event.key === "ArrowUp" || event.key === "ArrowDown"
        ? other()[Math.min(at, other().length - 1)] : words()[by];
      if (at < 0 || !next) return;
      event.preventDefault();
      for (const one of words()) one.tabIndex = one === next ? 0 : -1;
      next.focus();
    };
  }
  source.addEventListener("keydown", walk(() => above, () => below));
  target.addEventListener("keydown", walk(() => below, () => above));
  const watcher = new ResizeObserver(() => {
    places = null;
    if (shown) look(...shown);
  });
  watcher.observe(node);

  return {
    node,
    look,
    /** Words as they come. @param {string[]} words */
    hear(words, lang) {
      shown = null;
      fill(lines);
      while (target.children.length > words.length) target.lastChild.remove();
      words.forEach((text, at) => {
        const known = target.children[at]?.firstChild;
        if (known) known.textContent = text;
        else target.append(el("span", { class: "pair-word coming", lang }, el("span", { class: "pair-text" }, text)));
      });
    },
    /** Everything that was read and said. */
    show(seen, trace, forced = 0) {
      places = null;
      const chance = (one) => Math.exp(one.tokens.reduce((total, at) => total + trace.steps[at].logprob, 0));
      above = seen.columns.map((one, at) => word(one, at, "source"));
      below = seen.rows.map((one, at) => {
        const made = word(one, at, "target", chance(one));
        made.classList.toggle("forced", at < forced);
        made.setAttribute("aria-label", `${one.text}, ${message("translate_chance", formatNumber(chance(one)))}`);
        return made;
      });
      node.classList.toggle("long", above.length > MOST);
      fill(lines);
      fill(source, above);
      fill(target, below);
    },
    /** Only the sentence, before anything is said. */
    begin(text, lang) {
      shown = null;
      [above, below] = [[], []];
      fill(lines);
      fill(source, text.split(/\s+/).map((one) => el("span", { class: "pair-word", lang },
        el("span", { class: "pair-text" }, one))));
      fill(target);
    },
    close: () => watcher.disconnect(),
  };
}
