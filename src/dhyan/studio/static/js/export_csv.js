/** Numbers as a table for spreadsheets, and the names of files. */

/**
 * A table by RFC 4180, in UTF-8 with the mark that spreadsheets know it by. A word that a
 * spreadsheet would take for a formula (it begins with = + - @, a tab or a return) gets an
 * apostrophe before it; numbers stay numbers, masked cells are -inf.
 * @param {{values: number[][], rows: string[], columns: string[]}} table
 */
export function asCsv({ values, rows, columns }) {
  const lines = [["", ...columns.map(harmless)],
    ...values.map((line, row) => [harmless(rows[row]), ...line.map(written)])];
  return `\uFEFF${lines.map((line) => line.map(quoted).join(",")).join("\r\n")}\r\n`;
}

const harmless = (words) => (/^[=+\-@\t\r\n]/.test(words) ? `'${words}` : words);
const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

function written(value) {
  if (value === -Infinity) return "-inf";
  if (value === Infinity) return "inf";
  return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "";
}

/**
 * `alpha_bahdanau_the-bank-of_20261115.svg`: what it is, of which model, of which sentence, when.
 * @param {{view: string, q: string, m: string}} state @param {{text: string} | null} [trace]
 */
export function named(state, trace, suffix, now = new Date()) {
  const kind = state.view === "translate" ? "alpha" : state.view;
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0")).join("");
  const parts = [kind, slug(state.model), slug(trace?.text ?? state.text), day].filter(Boolean);
  return `${parts.join("_")}.${suffix}`;
}

/** The first three words, in letters and digits that every disk bears. */
function slug(words) {
  const found = words.normalize("NFC").toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return [...found.slice(0, 3).join("-")].slice(0, 40).join("");
}
