import { test } from "node:test";
import assert from "node:assert/strict";
import { transliterate } from "../../src/dhyan/studio/static/js/transliterate.js";

test("Hindi words are written about as they are spoken", () => {
  const words = { नमस्ते: "namaste", किताब: "kitāb", लड़का: "laṛkā", ज़मीन: "zamīn", हिंदी: "hindī", अंबर: "ambar", मित्र: "mitra", दोस्त: "dost", "५": "5" };
  for (const [hindi, latin] of Object.entries(words)) assert.equal(transliterate(hindi), latin.normalize("NFC"), hindi);
});

test("what is not Devanagari stays as it is", () => {
  assert.equal(transliterate("dhyan, 2026!"), "dhyan, 2026!");
  assert.equal(transliterate("वह bank है।").split(" ")[1], "bank");
});

test("composed and decomposed nukta letters are the same", () => {
  assert.equal(transliterate("\u095b\u092e\u0940\u0928"), transliterate("\u091c\u093c\u092e\u0940\u0928"));
});
