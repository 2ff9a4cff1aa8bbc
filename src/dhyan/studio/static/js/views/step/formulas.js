/** The formulas of a step in MathML; s is the state that asks: before the step, or of it. */

import { math } from "../../dom.js";

const i = (name, more = {}) => math("mi", more, name);
const o = (sign) => math("mo", {}, sign);
const n = (number) => math("mn", {}, number);
const row = (...parts) => math("mrow", {}, ...parts);
const sub = (base, ...under) => math("msub", {}, base, under.length > 1 ? row(...under) : under[0]);
const bold = (name) => i(name, { mathvariant: "normal", class: "vector" });
const turned = (base) => math("msup", {}, base, i("T", { mathvariant: "normal" }));
const call = (name, ...inside) => row(i(name), o("\u2061"), o("("), ...inside, o(")"));
const whole = (...parts) => math("math", {}, ...parts);

export const asks = (after) => (after ? sub(bold("s"), i("i")) : sub(bold("s"), row(i("i"), o("−"), n("1"))));
const h = () => sub(bold("h"), i("j"));
const e = () => sub(i("e"), row(i("i"), i("j")));
const alpha = () => sub(i("α"), row(i("i"), i("j")));
const c = () => sub(bold("c"), i("i"));
const tilde = () => sub(math("mover", { accent: "true" }, bold("s"), o("~")), i("i"));
const over = (place) => math("munder", {}, o("∑"), i(place));

const SCORES = {
  additive: () => row(turned(bold("v")), o("·"), call("tanh", o("…"))),
  dot: (after) => row(turned(asks(after)), h()),
  scaled_dot: (after) => math("mfrac", {}, row(turned(asks(after)), h()), math("msqrt", {}, i("d"))),
  general: (after) => row(turned(asks(after)), o("·"), i("W"), h()),
  location: (after) => sub(row(o("("), i("W"), asks(after), o(")")), i("j")),
};

const FORMULAS = {
  s: ({ after }) => whole(asks(after)),
  Ws: ({ after }) => whole(i("W"), asks(after), o("+"), bold("b")),
  h: () => whole(h()),
  Uh: () => whole(i("U"), h()),
  Wh: () => whole(i("W"), h()),
  sum: ({ after }) => whole(i("W"), asks(after), o("+"), bold("b"), o("+"), i("U"), h()),
  tanh: () => whole(call("tanh", o("…"))),
  e: ({ score, after }) => whole(e(), o("="), SCORES[score](after)),
  seen: () => whole(sub(i("g"), row(i("i"), i("j")))),
  exp: ({ shift }) => whole(call("exp", e(), ...(shift ? [o("−"), math("mi", {}, "max")] : []))),
  alpha: ({ window }) => whole(alpha(), o("="), math("mfrac", {}, call("exp", e()),
    row(over("k"), call("exp", sub(i("e"), row(i("i"), i("k")))))), ...(window ? [o("·"), sub(i("g"), row(i("i"), i("j")))] : [])),
  ah: () => whole(alpha(), h()),
  c: () => whole(c(), o("="), over("j"), alpha(), h()),
  tilde: ({ after }) => whole(tilde(), o("="), call("tanh", sub(i("W"), i("c")), o("["), c(), o(";"), asks(after), o("]"), o("+"), bold("b"))),
};

/** The formula of a row. @param {{score: string, after: boolean, window: boolean, shift: number}} about */
export const formula = (name, about) => FORMULAS[name](about);
