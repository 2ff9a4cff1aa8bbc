/** Translate view: one model, or two of them, or two sentences, side by side. */

import { isComparing } from "../state.js";
import { open as openComparison } from "./translate/comparison.js";
import { open as openOneModel } from "./translate/one_model.js";

/** @returns {View} */
export const open = () => (isComparing() ? openComparison() : openOneModel());
