/** CSV of a table, and names of exported files. */

/**
 * CSV by RFC 4180, in UTF-8 with a byte order mark for spreadsheets. A word that a
 * spreadsheet would read as a formula (it begins with =, +, -, "@", a tab or a return) gets an
 * apostrophe in front; numbers stay numbers, masked cells are -inf.
 * @param {NumberTable} table
 */
export function asCsv({ values, rows, columns }) {
  const lines = [["", ...columns.map(escapeFormula)],
    ...values.map((line, row) => [escapeFormula(rows[row]), ...line.map(formatValue)])];
  return `\uFEFF${lines.map((line) => line.map(quote).join(",")).join("\r\n")}\r\n`;
}

const escapeFormula = (words) => (/^[=+\-@\t\r\n]/.test(words) ? `'${words}` : words);
const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

function formatValue(value) {
  if (value === -Infinity) return "-inf";
  if (value === Infinity) return "inf";
  return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "";
}

/**
 * File name `alpha_bahdanau_the-bank-of_20261115.svg`: view, model, sentence, date.
 * @param {{view: string, text: string, model: string}} state @param {{text: string} | null | undefined} trace
 * @param {string} suffix
 */
export function fileName(state, trace, suffix, date = new Date()) {
  const kind = state.view === "translate" ? "alpha" : state.view;
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, "0")).join("");
  const parts = [kind, slug(state.model), slug(trace?.text ?? state.text), day].filter(Boolean);
  return `${parts.join("_")}.${suffix}`;
}

/** The first three words, reduced to letters and digits that are valid in file names. */
function slug(text) {
  const words = text.normalize("NFC").toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return [...words.slice(0, 3).join("-")].slice(0, 40).join("");
}
