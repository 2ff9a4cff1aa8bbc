/** A camera over an SVG picture: it moves to hold some boxes, at once where motion is not wanted. */

const DURATION = 700; // milliseconds
const MARGIN = 14;
const MAX_SCALE = 1.5; // pixels per unit
const ease = (share) => (share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2);

/** @param {SVGSVGElement} picture */
export function camera(picture) {
  let view = null; // x, y, width, height
  let frame = 0;

  function put(next) {
    view = next;
    picture.setAttribute("viewBox", next.map((value) => value.toFixed(2)).join(" "));
  }

  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
  }

  return {
    stop,
    /** @param {{x: number, y: number, width: number, height: number}[]} boxes @param {{animated: boolean, width: number}} options width of the picture in pixels */
    hold(boxes, { animated, width }) {
      stop();
      const target = around(boxes, width / MAX_SCALE);
      if (!animated || !view || matchMedia("(prefers-reduced-motion: reduce)").matches) return put(target);
      const from = view;
      const began = performance.now();
      const move = (now) => {
        const share = Math.min((now - began) / DURATION, 1);
        put(from.map((value, index) => value + (target[index] - value) * ease(share)));
        frame = share < 1 ? requestAnimationFrame(move) : 0;
      };
      frame = requestAnimationFrame(move);
      return undefined;
    },
  };
}

/** The smallest view that holds all boxes, at least of a width. */
function around(boxes, least) {
  const left = Math.min(...boxes.map(({ x }) => x)) - MARGIN;
  const top = Math.min(...boxes.map(({ y }) => y)) - MARGIN;
  const right = Math.max(...boxes.map(({ x, width }) => x + width)) + MARGIN;
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height)) + MARGIN;
  const width = Math.max(right - left, least);
  return [left - (width - (right - left)) / 2, top, width, bottom - top];
}
