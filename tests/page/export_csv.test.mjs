import { test } from "node:test";
import assert from "node:assert/strict";
import { asCsv, fileName } from "../../src/dhyan/studio/static/js/export_csv.js";

/** Cells of a CSV by RFC 4180. */
function parse(text) {
  const lines = [[""]];
  for (const [token] of text.replace(/^\uFEFF/, "").replace(/\r\n$/, "").matchAll(/"(?:[^"]|"")*"|\r\n|,|[^",\r\n]+/g)) {
    if (token === "\r\n") lines.push([""]);
    else if (token === ",") lines.at(-1).push("");
    else lines.at(-1)[lines.at(-1).length - 1] += token.startsWith('"') ? token.slice(1, -1).replaceAll('""', '"') : token;
  }
  return lines;
}

test("a table is read back as it was written, quotes, commas and line breaks too", () => {
  const table = { rows: ['say "yes"', "a,b"], columns: ["one\r\ntwo", "तीन"], values: [[0.125, -3], [1e-9, 2]] };
  const [head, ...lines] = parse(asCsv(table));
  assert.deepEqual(head, ["", ...table.columns]);
  lines.forEach((line, row) => {
    assert.equal(line[0], table.rows[row]);
    assert.deepEqual(line.slice(1).map(Number), table.values[row]);
  });
});

test("it begins with the byte order mark and every line ends as the standard says", () => {
  const text = asCsv({ rows: ["a"], columns: ["b"], values: [[1]] });
  assert.ok(text.startsWith("\uFEFF") && text.endsWith("\r\n"));
});

test("no word is read as a formula, numbers stay numbers", () => {
  const words = ["=1+1", "+1", "-1", "@x", "\tx"];
  const [head, line] = parse(asCsv({ rows: ["=HYPERLINK()"], columns: words, values: [words.map(() => -1.5)] }));
  assert.deepEqual(head.slice(1), words.map((word) => `'${word}`));
  assert.deepEqual(line, ["'=HYPERLINK()", ...words.map(() => "-1.5")]);
});

test("masked cells are -inf, unknown ones empty", () => {
  assert.deepEqual(parse(asCsv({ rows: ["a"], columns: ["b", "c", "d"], values: [[-Infinity, Infinity, NaN]] }))[1], ["a", "-inf", "inf", ""]);
});

test("a file name has the view, model, first words and date, and nothing a file system refuses", () => {
  const state = { view: "translate", text: "The bank / of: the river", model: "runs/en-hi" };
  const name = fileName(state, null, "svg", new Date(2026, 10, 5));
  assert.equal(name, "alpha_runs-en-hi_the-bank-of_20261105.svg");
  assert.match(fileName({ ...state, view: "heads", text: "नमस्ते दुनिया" }, null, "png"), /^heads_runs-en-hi_नमस्ते-दुनिया_\d{8}\.png$/);
  assert.ok(fileName({ ...state, text: "x".repeat(500) }, null, "csv").length < 120);
  assert.match(fileName(state, { text: "another sentence" }, "json"), /_another-sentence_/);
});
