/** Rules for the studio's modules and their tests. */

import js from "@eslint/js";
import globals from "globals";

const MARKUP = ["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({ property, message: "Text is set as text nodes only (dom.js)." }));

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      eqeqeq: "error",
      "no-unused-vars": ["error", { args: "after-used" }],
      "no-restricted-properties": ["error", ...MARKUP],
      "no-restricted-globals": ["error", "eval"],
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-unreachable-loop": "error",
      "no-promise-executor-return": "off",
    },
  },
  { // control characters and combining marks are matched on purpose
    files: ["src/dhyan/studio/static/js/engine/{normalize,tokenizer}.js"],
    rules: { "no-control-regex": "off", "no-misleading-character-class": "off" },
  },
  { files: ["tests/page/**"], languageOptions: { globals: globals.nodeBuiltin } },
];
