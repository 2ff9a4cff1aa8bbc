/** MathML of a step; the query s is the decoder state before the step, or after it (Luong). */

import { math } from "../../dom.js";

const i = (name, more = {}) => math("mi", more, name);
const o = (sign) => math("mo", {}, sign);
const n = (number) => math("mn", {}, number);
const row = (...parts) => math("mrow", {}, ...parts);
const sub = (base, ...under) => math("msub", {}, base, under.length > 1 ? row(...under) : under[0]);
const bold = (name) => i(name, { mathvariant: "normal", class: "vector" });
const transposed = (base) => math("msup", {}, base, i("T", { mathvariant: "normal" }));
const call = (name, ...inside) => row(i(name), o("\u2061"), o("("), ...inside, o(")"));
const mathElement = (...parts) => math("math", {}, ...parts);

const decoderState = (after) => (after ? sub(bold("s"), i("i")) : sub(bold("s"), row(i("i"), o("−"), n("1"))));
const h = () => sub(bold("h"), i("j"));
const e = () => sub(i("e"), row(i("i"), i("j")));
const alpha = () => sub(i("α"), row(i("i"), i("j")));
const c = () => sub(bold("c"), i("i"));
const tilde = () => sub(math("mover", { accent: "true" }, bold("s"), o("~")), i("i"));
const over = (index) => math("munder", {}, o("∑"), i(index));

const SCORES = {
  additive: () => row(transposed(bold("v")), o("·"), call("tanh", o("…"))),
  dot: (after) => row(transposed(decoderState(after)), h()),
  scaled_dot: (after) => math("mfrac", {}, row(transposed(decoderState(after)), h()), math("msqrt", {}, i("d"))),
  general: (after) => row(transposed(decoderState(after)), o("·"), i("W"), h()),
  location: (after) => sub(row(o("("), i("W"), decoderState(after), o(")")), i("j")),
};

const FORMULAS = {
  s: ({ after }) => mathElement(decoderState(after)),
  Ws: ({ after }) => mathElement(i("W"), decoderState(after), o("+"), bold("b")),
  h: () => mathElement(h()),
  Uh: () => mathElement(i("U"), h()),
  Wh: () => mathElement(i("W"), h()),
  sum: ({ after }) => mathElement(i("W"), decoderState(after), o("+"), bold("b"), o("+"), i("U"), h()),
  tanh: () => mathElement(call("tanh", o("…"))),
  e: ({ score, after }) => mathElement(e(), o("="), SCORES[score](after)),
  visibility: () => mathElement(sub(i("g"), row(i("i"), i("j")))),
  exp: ({ shift }) => mathElement(call("exp", e(), ...(shift ? [o("−"), math("mi", {}, "max")] : []))),
  alpha: ({ window }) => mathElement(alpha(), o("="), math("mfrac", {}, call("exp", e()),
    row(over("k"), call("exp", sub(i("e"), row(i("i"), i("k")))))), ...(window ? [o("·"), sub(i("g"), row(i("i"), i("j")))] : [])),
  ah: () => mathElement(alpha(), h()),
  c: () => mathElement(c(), o("="), over("j"), alpha(), h()),
  tilde: ({ after }) => mathElement(tilde(), o("="), call("tanh", sub(i("W"), i("c")), o("["), c(), o(";"), decoderState(after), o("]"), o("+"), bold("b"))),
};

/** The formula of a row. @param {{score: string, after: boolean, window: boolean, shift: number}} about */
export const formula = (name, about) => FORMULAS[name](about);
