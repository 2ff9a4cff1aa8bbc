/** Symbols and numbers of the tour in plain text. */

import { formatNumber } from "../../numbers.js";

const DIGITS = "₀₁₂₃₄₅₆₇₈₉";

/** A number in subscript. @param {number} number */
export const subscript = (number) => [...String(number)].map((digit) => DIGITS[Number(digit)]).join("");

/** The formulas of the scores, by name; a state of the decoder is s, one of the encoder h. */
export const SCORE_FORMULAS = { additive: "v·tanh(W s + U h)", general: "s·(W h)", dot: "s·h", scaled_dot: "s·h ÷ √d", location: "(W s)ⱼ" };

/** A share from 0 to 1; one that would round to 0 says so. @param {number} weight */
export const formatWeight = (weight) => (weight > 0 && weight < 0.0005 ? "<0.001" : formatNumber(weight));

/** A share as a percentage. @param {number} share */
export const percent = (share) => `${formatNumber(100 * share, 1)} %`;
