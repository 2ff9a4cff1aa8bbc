/** Symbols of the tour in plain text. */

const DIGITS = "₀₁₂₃₄₅₆₇₈₉";

/** A number in subscript. @param {number} number */
export const subscript = (number) => [...String(number)].map((digit) => DIGITS[Number(digit)]).join("");

/** The formulas of the scores, by name; a state of the decoder is s, one of the encoder h. */
export const SCORE_FORMULAS = { additive: "v·tanh(W s + U h)", general: "s·(W h)", dot: "s·h", scaled_dot: "s·h ÷ √d", location: "(W s)ⱼ" };
