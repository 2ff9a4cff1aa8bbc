/** The canvas of the tour: the whole machine from the sentence to the word, laid out once, with a camera. */

import { closest, el, setChildren, svg } from "../../dom.js";
import { camera } from "./camera.js";
import { layOut } from "./layout.js";

const SECOND_ROW = "scores"; // the block that begins the second row of the whole machine
const ROW_GAP = 70;
const LEGIBLE = 0.7; // the scale down to which a step shows the blocks beside it too

/**
 * `onPoint` gets the names of the part under the pointer, `onChoose` the step of a block that is clicked in the whole machine.
 * @param {{onPoint: (names: string[] | null) => void, onChoose: (step: string) => void}} listener
 */
export function tourCanvas({ onPoint, onChoose }) {
  const picture = svg("svg", { class: "tour-svg", role: "img" });
  const node = el("div", { class: "tour-canvas" }, picture);
  const lens = camera(node, picture);
  let blocks = new Map();
  let shot = null; // the step on screen
  let whole = false;
  let away = false; // the camera is at a block that a phrase is about

  picture.addEventListener("pointerover", (event) => {
    const names = closest(event, "[data-parts]")?.dataset.parts?.split(" ") ?? null;
    onPoint(names);
  });
  picture.addEventListener("pointerleave", () => onPoint(null));
  picture.addEventListener("click", (event) => {
    const block = whole && blocks.get(closest(event, ".tour-block")?.dataset.block);
    if (block) onChoose(block.step);
  });

  /** The boxes that the camera has to hold. */
  function framed() {
    if (whole || !shot) return [...blocks.values()].map((block) => ({ ...block, x: block.x + moved(block).x, y: block.y + moved(block).y }));
    const boxes = (names) => names.map((name) => blocks.get(name)).filter(Boolean);
    const all = boxes([...shot.near, ...shot.main]);
    return lens.scaleOf(all) >= LEGIBLE ? all : boxes(shot.main);
  }

  /** How far a block is moved when the whole machine is shown: the decoder stands below the encoder. */
  function moved({ x }) {
    const first = blocks.get(SECOND_ROW);
    if (!whole || x < first.x) return { x: 0, y: 0 };
    return { x: -first.x, y: ROW_GAP + Math.max(...[...blocks.values()].filter((block) => block.x < first.x).map(({ height }) => height)) };
  }

  const point = (animated) => lens.hold(framed(), animated);
  const watcher = new ResizeObserver(() => blocks.size && point(false));
  watcher.observe(node);

  return {
    node,
    /** Draw the machine of some numbers. @param {any} numbers @param {{source: string, target: string}} languages @param {string[]} steps by name */
    draw(numbers, languages, steps) {
      blocks = new Map(layOut(numbers, languages).map((block) => [block.name, block]));
      setChildren(picture, ...[...blocks.values()].map((block) => drawBlock(block, (step) => steps.indexOf(step) + 1)));
    },
    /** Show a step, counted from 1. @param {{number: number, main: string[], near: string[], isRevealed: (step: number) => boolean, description: string, animated: boolean}} next */
    show(next) {
      shot = next;
      away = false;
      picture.setAttribute("aria-label", next.description);
      for (const group of picture.querySelectorAll(".tour-block")) {
        const name = group.dataset.block ?? "";
        group.classList.toggle("dim", !whole && ![...next.main, ...next.near].includes(name));
        group.classList.toggle("main", next.main.includes(name));
        const { x, y } = moved(blocks.get(name));
        group.setAttribute("transform", `translate(${x} ${y})`);
      }
      for (const content of picture.querySelectorAll("[data-stage]")) {
        const stage = Number(content.dataset.stage);
        content.classList.toggle("concealed", stage > next.number || (stage === next.number && !next.isRevealed(stage)));
      }
      for (const mark of picture.querySelectorAll(".tour-unknown")) {
        mark.classList.toggle("concealed", Number(mark.dataset.unknown) !== next.number || next.isRevealed(next.number));
      }
      point(next.animated);
    },
    /** Light all parts of a name; null lights none. The camera follows to a block out of sight. @param {string | null} name */
    light(name, { follow = true } = {}) {
      for (const lit of picture.querySelectorAll(".lit")) lit.classList.remove("lit");
      const parts = name ? [...picture.querySelectorAll(`[data-parts~="${name}"]`)] : [];
      for (const own of parts) own.classList.add("lit");
      const out = follow && parts.map((own) => blocks.get(own.closest(".tour-block")?.dataset.block)).find((block) => !framed().includes(block));
      if (out) lens.hold([out], true);
      else if (away && shot) point(true);
      away = Boolean(out);
    },
    /** Show the whole machine, or the step again. @param {boolean} on */
    showWhole(on) {
      if (whole === on) return;
      whole = on;
      picture.classList.toggle("whole", on);
      if (shot) this.show({ ...shot, animated: true });
    },
    picture,
    close: () => watcher.disconnect(),
  };
}

/** A block: its frame and title, its contents by the step that reveals them, and a question mark before. */
function drawBlock({ name, title, x, y, width, height, contents, step, unknown = height / 2 + 30 }, numberOf) {
  return svg("g", { class: "tour-block", "data-block": name },
    svg("rect", { class: "tour-frame", x, y, width, height, rx: 12 }),
    svg("text", { class: "tour-title", x: x + 14, y: y + 25 }, title),
    svg("text", { class: "tour-unknown concealed", "data-unknown": numberOf(step), x: x + width / 2, y: y + unknown, "text-anchor": "middle" }, "?"),
    ...contents.map((content) => svg("g", { "data-stage": numberOf(content.step) }, ...content.nodes)));
}
