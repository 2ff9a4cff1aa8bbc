/**
 * Decoding as an animation: the words of the translation appear one after the other, each with its weights and
 * runners-up. Any key, click or movement of the pointer over the view ends it with the finished picture.
 */

const INTERVAL = 650; // milliseconds between two words
const LONGEST = 9000; // of a whole animation: a long sentence is quicker
const FIRST = 250; // before the first word
const KEEPS = ".play-button"; // its click pauses by itself
const PLAY_KEY = "p"; // as the button

/** Parts of the picture that belong to a word of the translation, and the index of that word. */
const PARTS = ".pair-target [data-index], .ribbon-word[data-side=row], .translate-picture [data-row]";
const rowOf = ({ dataset }) => Number(dataset.row ?? dataset.index);

/** Whether pictures move without being asked to. */
export const isMotionReduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * @param {HTMLElement} view
 * @param {{show: (row: number) => void, end: () => void}} listener `show` gets every word as it appears; `end` is
 *   called once, after the last word or when a reader ends it
 */
export function decodingAnimation(view, listener) {
  let [timer, running, current] = [0, false, -1];

  function reveal(last) {
    current = last;
    for (const part of view.querySelectorAll(PARTS)) {
      const row = rowOf(part);
      part.classList.toggle("pending", row > last);
      part.classList.toggle("arriving", row === last);
    }
  }

  function next(row, count, interval) {
    if (row === count) return end();
    reveal(row);
    listener.show(row);
    timer = setTimeout(next, interval, row + 1, count, interval);
    return undefined;
  }

  function end() {
    if (!running) return;
    running = false;
    clearTimeout(timer);
    for (const kind of ["keydown", "pointerdown", "wheel"]) removeEventListener(kind, interrupt, true);
    view.removeEventListener("pointermove", interrupt);
    delete view.dataset.decoding;
    for (const part of view.querySelectorAll(".pending, .arriving")) part.classList.remove("pending", "arriving");
    listener.end();
  }

  function interrupt(event) {
    if (event.type === "keydown" && event.key === PLAY_KEY && !/^(input|textarea)$/i.test(event.target.tagName)) return;
    if (event.type === "pointermove" && !event.movementX && !event.movementY) return; // the page has moved below a pointer at rest
    if (!event.target.closest?.(KEEPS)) end();
  }

  return {
    isRunning: () => running,
    /** Begin with the first of so many words. @param {number} count */
    start(count) {
      end();
      running = true;
      view.dataset.decoding = "";
      for (const kind of ["keydown", "pointerdown", "wheel"]) addEventListener(kind, interrupt, { capture: true, passive: true });
      view.addEventListener("pointermove", interrupt);
      reveal(-1);
      timer = setTimeout(next, FIRST, 0, count, Math.min(INTERVAL, LONGEST / count));
    },
    end,
    /** Go on in a picture that was drawn again, as in a new width. */
    refresh() {
      if (!running) return;
      reveal(current);
      if (current >= 0) listener.show(current);
    },
  };
}
