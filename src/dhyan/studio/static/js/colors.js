/** The colours of a weight and of a signed number, from the table the server draws with. */

let tables = { light: [], dark: [] };

/** Take up the tables: 256 colours from nothing to one, for each theme. */
export function setPalette(found) {
  tables = found;
}

export const dark = () =>
  document.documentElement.dataset.theme === "dark" ||
  (document.documentElement.dataset.theme === "auto" &&
    matchMedia("(prefers-color-scheme: dark)").matches);

/** A weight from 0 to 1; `scale` may be "sqrt", which shows small ones better. */
export function weight(value, scale = "linear") {
  const table = dark() ? tables.dark : tables.light;
  const share = Math.min(Math.max(scale === "sqrt" ? Math.sqrt(value) : value, 0), 1);
  return table[Math.min(Math.floor(share * table.length), table.length - 1)];
}

/** A number between −most and most: orange below nought, blue above. */
export function signed(value, most) {
  const share = most > 0 ? Math.min(Math.abs(value) / most, 1) * 0.8 : 0;
  const [paper, low, high] = dark()
    ? ["#12161d", "#c8742a", "#3f86bd"]
    : ["#ffffff", "#e08a3c", "#4a90c4"];
  return blend(paper, value < 0 ? low : high, share);
}

/** Black or white, whichever reads better on a colour. */
export const ink = (on) => (contrast("#000000", on) >= contrast("#ffffff", on) ? "#000000" : "#ffffff");

const bytes = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

function blend(one, other, share) {
  const [a, b] = [bytes(one), bytes(other)];
  const mixed = a.map((value, index) => Math.round(value + share * (b[index] - value)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function luminance(colour) {
  const [red, green, blue] = bytes(colour).map((byte) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** How well one colour is read on another, from 1 to 21. */
export function contrast(one, other) {
  const [dim, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}
