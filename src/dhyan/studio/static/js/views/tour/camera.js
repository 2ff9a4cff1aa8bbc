/** A camera over a picture that is larger than its frame: it moves to hold some boxes, at once where motion is not wanted. */

const DURATION = 700; // milliseconds
const EASING = "cubic-bezier(0.65, 0, 0.35, 1)";
const MARGIN = 14;
const MAX_SCALE = 1.5; // pixels per unit

/** @typedef {{x: number, y: number, width: number, height: number}} Box */

/** @param {HTMLElement} frame that shows a part of the picture @param {SVGSVGElement} picture */
export function camera(frame, picture) {
  let origin = { x: 0, y: 0 };
  let animation = null;
  const scaleOf = ({ width, height }) => Math.min(frame.clientWidth / width, frame.clientHeight / height, MAX_SCALE);

  return {
    /** The scale at which some boxes fill the frame. @param {Box[]} boxes */
    scaleOf: (boxes) => scaleOf(around(boxes, MARGIN)),
    /** Move so that some boxes fill the frame; they are the picture, and what stands beside them only surrounds it. @param {Box[]} boxes @param {boolean} animated */
    hold(boxes, animated) {
      const from = new DOMMatrix(getComputedStyle(picture).transform);
      const { x, y, width, height } = around(boxes, MARGIN);
      const scale = scaleOf({ width, height });
      picture.setAttribute("viewBox", [x, y, width, height].join(" "));
      picture.setAttribute("width", String(width));
      picture.setAttribute("height", String(height));
      from.translateSelf(x - origin.x, y - origin.y);
      origin = { x, y };
      animation?.cancel();
      const [left, top] = [(frame.clientWidth - width * scale) / 2, (frame.clientHeight - height * scale) / 2];
      picture.style.transform = `translate(${left.toFixed(2)}px, ${top.toFixed(2)}px) scale(${scale.toFixed(4)})`;
      if (!animated || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      animation = picture.animate([{ transform: from.toString() }, { transform: picture.style.transform }], { duration: DURATION, easing: EASING });
    },
  };
}

/** The smallest box around boxes, with a margin. @param {Box[]} boxes @param {number} margin @returns {Box} */
function around(boxes, margin) {
  const x = Math.min(...boxes.map((box) => box.x)) - margin;
  const y = Math.min(...boxes.map((box) => box.y)) - margin;
  return { x, y, width: Math.max(...boxes.map((box) => box.x + box.width)) + margin - x, height: Math.max(...boxes.map((box) => box.y + box.height)) + margin - y };
}
