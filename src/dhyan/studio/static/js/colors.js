/** Colour maps of weights and of signed numbers; the server sends the tables that its figures use. */

/** @typedef {{light: string[], dark: string[]}} Palette */

/** @type {Palette} */
let tables = { light: [], dark: [] };

/** Set the colour tables: 256 colours from 0 to 1 for each theme. @param {Palette} palette */
export function setPalette(palette) {
  tables = palette;
}

const isSystemDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme === "auto" && isSystemDark());
}

/** The theme that does not look like the current one; "auto" where that is the system's. */
export const otherTheme = () => (isDark() !== isSystemDark() ? "auto" : isDark() ? "light" : "dark");

/** Position of a weight among a number of shades, from 0 on; the scale "sqrt" separates small weights better.
 * @param {number} value from 0 to 1 @param {string} scale "linear" or "sqrt" @param {number} shades */
export function shadeOf(value, scale, shades) {
  const share = Math.min(Math.max(scale === "sqrt" ? Math.sqrt(value) : value, 0), 1);
  return Math.min(Math.floor(share * shades), shades - 1);
}

/** Colour of a weight from 0 to 1. @param {number} value @param {string} scale "linear" or "sqrt" */
export function weightColor(value, scale = "linear") {
  const table = isDark() ? tables.dark : tables.light;
  return table[shadeOf(value, scale, table.length)];
}

/** Colour of a number between −limit and limit: orange is negative, blue is positive. @param {number} value @param {number} limit */
export function signedColor(value, limit) {
  const share = limit > 0 ? Math.min(Math.abs(value) / limit, 1) * 0.8 : 0;
  const [background, low, high] = isDark()
    ? ["#12161d", "#c8742a", "#3f86bd"]
    : ["#ffffff", "#e08a3c", "#4a90c4"];
  return blend(background, value < 0 ? low : high, share);
}

/** Text color, black or white, with the higher contrast on a background. @param {string} background */
export const textColor = (background) => (contrast("#000000", background) >= contrast("#ffffff", background) ? "#000000" : "#ffffff");

/** @param {string} color as #rrggbb */
const bytes = (color) => [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));

/** @param {string} from @param {string} to @param {number} share */
function blend(from, to, share) {
  const [a, b] = [bytes(from), bytes(to)];
  const blended = a.map((value, index) => Math.round(value + share * (b[index] - value)));
  return `#${blended.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} color */
function luminance(color) {
  const [red, green, blue] = bytes(color).map((byte) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio of two colours (WCAG 2), from 1 to 21. @param {string} first @param {string} second */
export function contrast(first, second) {
  const [dim, bright] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}
