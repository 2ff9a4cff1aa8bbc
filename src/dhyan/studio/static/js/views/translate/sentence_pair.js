/** Source sentence and translation, with lines from the selected word to the words it attends to. */

import { el, setChildren, svg } from "../../dom.js";
import { weightColor, textColor } from "../../colors.js";
import { formatNumber } from "../../numbers.js";
import { message } from "../../messages.js";
import { hasServer } from "../../state.js";

const MIN_WEIGHT = 0.03; // weights that get a line
const LINE_TOLERANCE = 12; // pixels between words of one line: those with a second script are taller
const MAX_WORDS_WITH_LINES = 40; // longest sentence, in words, that gets lines

/**
 * @param {{select: (row: number | null, column: number | null, options: {hover: boolean}) => void,
 *   leave: () => void}} listener
 */
export function sentencePair(listener) {
  const source = el("p", { class: "pair-line pair-source", role: "group", "aria-label": message("translate_source") });
  const target = el("p", { class: "pair-line pair-target", role: "group", "aria-label": message("translate_target") });
  const lines = svg("svg", { class: "pair-lines", "aria-hidden": "true" });
  const runners = el("p", { class: "pair-runners muted", "aria-hidden": "true" });
  const hint = el("p", { class: "pair-hint muted" }, message("translate_change_hint"));
  const node = el("div", { class: "pair" }, lines, source, target, runners, hasServer() && hint);
  let [sourceWords, targetWords] = /** @type {HTMLButtonElement[][]} */ ([[], []]);
  let positions = null;
  let selection = null;
  let width = 0;

  function word(unit, index, side, prob) {
    /** @type {[number | null, number | null]} */
    const cell = side === "target" ? [index, null] : [null, index];
    return el("button", { type: "button", class: `pair-word${unit.faint ? " faint" : ""}`, lang: unit.lang,
      tabindex: index ? -1 : 0, title: unit.note, "data-side": side, "data-index": index, on: {
        focus: (event) => {
          for (const element of side === "target" ? targetWords : sourceWords) element.tabIndex = element === event.currentTarget ? 0 : -1;
          if (event.currentTarget.matches(":focus-visible")) listener.select(...cell, { hover: false });
        },
        click: () => listener.select(...cell, { hover: false }),
        pointerenter: () => listener.select(...cell, { hover: true }),
        pointerleave: listener.leave } },
    el("span", { class: "pair-text" }, unit.text),
    unit.subtitle && el("span", { class: "pair-subtitle", lang: "hi-Latn" }, unit.subtitle),
    prob !== undefined && el("span", { class: "pair-prob", "aria-hidden": "true" },
      el("span", { style: { width: `${100 * prob}%` } })));
  }

  /** Positions of the words, measured once per width. */
  function measurePositions() {
    if (positions) return positions;
    const box = node.getBoundingClientRect();
    const middle = (element, side) => {
      const rect = element.getBoundingClientRect();
      return [rect.left + rect.width / 2 - box.left, (side === "above" ? rect.bottom : rect.top) - box.top];
    };
    positions = [targetWords.map((element) => middle(element, "below")), sourceWords.map((element) => middle(element, "above"))];
    return positions;
  }

  function paintLine(words, weights, scale) {
    words.forEach((word, index) => {
      const background = weights ? weightColor(weights[index], scale) : "";
      word.style.setProperty("background-color", background);
      word.style.setProperty("color", background && textColor(background));
    });
  }

  function highlight(row, column, view, scale) {
    selection = [row, column, view, scale];
    const byRow = row !== null;
    const weights = !view.attends ? null : byRow ? view.values[row] : view.values.map((line) => line[column]);
    paintLine(sourceWords, byRow ? weights : null, scale);
    paintLine(targetWords, byRow ? null : weights, scale);
    targetWords.forEach((element, index) => element.classList.toggle("selected", index === row));
    sourceWords.forEach((element, index) => element.classList.toggle("selected", !byRow && index === column));
    if (sourceWords.length > MAX_WORDS_WITH_LINES) return;
    if (isWrapped() && !node.classList.contains("compact")) { // smaller words may fit in one line
      node.classList.add("compact");
      positions = null;
    }
    const [targets, sources] = measurePositions();
    const wrapped = !weights || isWrapped();
    node.classList.toggle("wrapped", wrapped);
    if (wrapped) return void setChildren(lines); // there are none, or they would run behind words
    setChildren(lines, weights.map((value, index) => {
      if (value < MIN_WEIGHT) return null;
      const [x, y] = sources[byRow ? index : column];
      const [to, end] = targets[byRow ? row : index];
      const bend = (end - y) / 2;
      return svg("path", { d: `M${x} ${y} C${x} ${y + bend} ${to} ${end - bend} ${to} ${end}`,
        "stroke-width": (1 + 9 * value).toFixed(2), "stroke-opacity": (0.25 + 0.65 * value).toFixed(2) });
    }));
  }

  /** Whether the sentence or its translation takes more than one line. */
  function isWrapped() {
    return measurePositions().some((line) => Math.max(...line.map(([, y]) => y)) - Math.min(...line.map(([, y]) => y)) > LINE_TOLERANCE);
  }

  function arrowKeys(words, other) {
    return (event) => {
      const index = words().indexOf(event.target.closest("button"));
      const by = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: words().length - 1 }[event.key];
      const next = event.key === "ArrowUp" || event.key === "ArrowDown"
        ? other()[Math.min(index, other().length - 1)] : words()[by];
      if (index < 0 || !next) return;
      event.preventDefault();
      next.focus();
    };
  }
  source.addEventListener("keydown", arrowKeys(() => sourceWords, () => targetWords));
  target.addEventListener("keydown", arrowKeys(() => targetWords, () => sourceWords));
  const watcher = new ResizeObserver(() => {
    if (node.clientWidth === width) return; // only its height has changed
    width = node.clientWidth;
    node.classList.remove("compact");
    positions = null;
    if (selection) highlight(...selection);
  });
  watcher.observe(node);

  return {
    node,
    highlight,
    /** The most probable tokens that were not chosen, below the translation. @param {[string, number][] | null} tokens */
    showRunnersUp(tokens, lang) {
      setChildren(runners, tokens && [`${message("translate_runners")} `, ...tokens.flatMap(([text, prob], index) =>
        [index ? " · " : "", el("span", { lang }, text), " ", el("span", { class: "number" }, `${prob < 0.005 ? "<\u00a0.01" : formatNumber(prob, 2, { weight: true })}`)])]);
    },
    /** Show the tokens streamed so far. @param {string[]} tokens */
    showTokens(tokens, lang) {
      selection = null;
      setChildren(lines);
      setChildren(runners);
      while (target.children.length > tokens.length) target.lastChild?.remove();
      tokens.forEach((text, index) => {
        const existing = target.children[index]?.firstChild;
        if (existing) existing.textContent = text;
        else target.append(el("span", { class: "pair-word streaming", lang }, el("span", { class: "pair-text" }, text)));
      });
    },
    /** Show the finished translation. */
    show(view, trace, forced = 0) {
      positions = null;
      const prob = (unit) => Math.exp(unit.tokens.reduce((total, index) => total + trace.steps[index].logprob, 0));
      sourceWords = view.columns.map((column, index) => word(column, index, "source"));
      targetWords = view.rows.map((row, index) => {
        const element = word(row, index, "target", prob(row));
        element.classList.toggle("forced", index < forced);
        element.setAttribute("aria-label", `${row.text}, ${message("translate_prob", formatNumber(prob(row)))}`);
        return element;
      });
      node.classList.remove("compact", "wrapped");
      node.classList.toggle("long", sourceWords.length > MAX_WORDS_WITH_LINES);
      setChildren(lines);
      setChildren(source, sourceWords);
      setChildren(target, targetWords);
    },
    /** Show the source sentence before the translation starts. */
    begin(text, lang) {
      selection = null;
      [sourceWords, targetWords] = [[], []];
      setChildren(lines);
      setChildren(source, text.split(/\s+/).map((part) => el("span", { class: "pair-word", lang },
        el("span", { class: "pair-text" }, part))));
      setChildren(target);
      setChildren(runners);
    },
    close: () => watcher.disconnect(),
  };
}
