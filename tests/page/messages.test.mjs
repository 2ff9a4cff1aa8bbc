import "./browser_stub.mjs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { hasMessage, message } from "../../src/dhyan/studio/static/js/messages.js";
import { set } from "../../src/dhyan/studio/static/js/state.js";

const STATIC = new URL("../../src/dhyan/studio/static/", import.meta.url);
const read = (path) => readFile(new URL(path, STATIC), "utf8");
const names = (await readdir(new URL("js", STATIC), { recursive: true })).filter((name) => name.endsWith(".js"));
const code = (await Promise.all([...names.map((name) => `js/${name}`), "index.html", "../server.py"].map(read))).join("\n");
const sections = { en: JSON.parse(await read("text/en.json")), hi: JSON.parse(await read("text/hi.json")) };
const catalogues = Object.fromEntries(Object.entries(sections).map(([language, parts]) => [language, Object.assign({}, ...Object.values(parts))]));

/** The arguments of a call whose bracket opens before `start`, as source text. */
function argumentsAt(start) {
  const parts = [""];
  const open = [];
  for (let at = start; at < code.length; at += 1) {
    const character = code[at];
    const inString = ['"', "'", "`"].includes(open.at(-1));
    if (inString && character === "\\") parts[parts.length - 1] += code[at++];
    else if (inString && character === open.at(-1)) open.pop();
    else if (open.at(-1) === "`" && character === "$" && code[at + 1] === "{") {
      open.push("}");
      parts[parts.length - 1] += code[at++];
    } else if (!inString && ['"', "'", "`"].includes(character)) open.push(character);
    else if (!inString && "([{".includes(character)) open.push({ "(": ")", "[": "]", "{": "}" }[character]);
    else if (!inString && character === open.at(-1)) open.pop();
    else if (!open.length && character === ")") break;
    else if (!open.length && character === ",") {
      parts.push("");
      continue;
    }
    parts[parts.length - 1] += code[at];
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

const calls = [...code.matchAll(/\bmessage\(/g)].map((match) => argumentsAt(match.index + match[0].length));
const literals = calls.flatMap(([key, ...values]) => [...(/^"\w+"$/.test(key) ? [key] : key?.match(/(?<=[?:] )"\w+"/g) ?? [])]
  .map((literal) => ({ key: literal.slice(1, -1), values })));
const places = (text) => [...new Set(text.match(/\{\d\}/g))].sort();

/** Keys with computed parts, as patterns. */
const patterns = [...code.matchAll(/`((?:\w|\$\{(?:[^{}`]|\{[^{}]*\})*\})+)`/g)].map((match) => match[1])
  .filter((template) => template.includes("${") && /^[a-z]+_/.test(template))
  .map((template) => new RegExp(`^${template.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "\\w*")}$`));

test("both catalogues have the same sections and keys", () => {
  assert.deepEqual(Object.keys(sections.hi), Object.keys(sections.en));
  for (const [section, texts] of Object.entries(sections.en)) assert.deepEqual(Object.keys(sections.hi[section]), Object.keys(texts), section);
  const count = Object.values(sections.en).reduce((total, texts) => total + Object.keys(texts).length, 0);
  assert.equal(Object.keys(catalogues.en).length, count, "a key is in two sections");
});

test("a message has the same places for values in both languages, counted from 0", () => {
  for (const [key, text] of Object.entries(catalogues.en)) {
    assert.deepEqual(places(catalogues.hi[key]), places(text), key);
    if (key in sections.en.tour) continue; // the texts of a step choose from one list of values
    assert.deepEqual(places(text), places(text).map((_, index) => `{${index}}`), key);
  }
});

test("every key that the code asks for exists", () => {
  assert.ok(literals.length > 400, `${literals.length} calls were found`);
  assert.deepEqual(literals.filter(({ key }) => !hasMessage(key)), []);
});

test("a call gives as many values as its message has places", () => {
  const wrong = literals.filter(({ key, values }) => !values.some((value) => value.startsWith("...")) && values.length < places(catalogues.en[key] ?? "").length);
  assert.deepEqual(wrong, []);
});

test("every message is used", () => {
  const quoted = new Set([...code.matchAll(/["'](\w+)["']/g)].map((match) => match[1]));
  const isUsed = (key) => quoted.has(key) || patterns.some((pattern) => pattern.test(key)) || (key.endsWith("_title") && quoted.has(key.slice(0, -"_title".length)));
  assert.deepEqual(Object.keys(catalogues.en).filter((key) => !isUsed(key)), []);
});

test("a message is in the language of the page, with its values in place", () => {
  const [[key]] = Object.entries(catalogues.en).filter(([, text]) => places(text).length === 2);
  for (const language of ["en", "hi"]) {
    set({ language });
    assert.equal(message(key, "ONE", "TWO"), catalogues[language][key].replaceAll("{0}", "ONE").replaceAll("{1}", "TWO"));
  }
  assert.throws(() => message("no_such_key"), /no_such_key/);
});
