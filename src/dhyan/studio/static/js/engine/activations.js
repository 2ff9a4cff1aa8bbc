/** Activations of a translation, from the embeddings of its source to the logits, as the studio's route `/api/activations`. */

import { largest } from "./layers.js";
import { packRows, packVector } from "./pack.js";
import { BOS } from "./tokenizer.js";

/** @typedef {Float32Array} Vector */

const TOP_TOKENS = 8;

/** The fields of `dhyan.insight.activations.Activations`, and the texts of the most probable tokens.
 * @param {import("./model.js").Model} model @param {{encoder: any, decoder: any}} settings those of the recipe @param {import("./tokenizer.js").Tokenizer} tokenizer of the target
 * @param {{source: number[], output: number[]}} translation */
export function activationsOf(model, settings, tokenizer, { source, output }) {
  const encoded = model.encode(source);
  let states = [model.start(encoded)];
  const firstState = states[0].hidden?.[0].at(-1);
  /** @type {{activation: import("./model.js").Activation, logits: Vector}[]} */
  const steps = [BOS, ...output.slice(0, -1)].map((id) => {
    const result = model.step([id], states);
    states = result.states;
    return { activation: result.activations[0], logits: result.logits[0] };
  });
  const topIds = steps.map(({ logits }) => largest(logits, TOP_TOKENS));
  return {
    decoder: settings.decoder.kind,
    bidirectional: Boolean(settings.encoder.bidirectional),
    input_feeding: Boolean(settings.decoder.input_feeding),
    source: packInputs(encoded.input),
    target: packInputs({ embeddings: steps.map(({ activation }) => activation.embedding), inputs: steps.map(({ activation }) => activation.input),
      scale: model.decoder.embedding?.scale ?? 1 }),
    states: packRows(encoded.states),
    decoder_states: firstState ? packRows([firstState, ...steps.map(({ activation }) => activation.state)]) : null,
    layers: steps[0].activation.layers.map((_, layer) => packLayer(steps.map(({ activation }) => activation.layers[layer]), model.decoder.layers[layer])),
    hidden: packRows(steps.map(({ activation }) => activation.hidden)),
    top_ids: topIds, top_logits: packRows(steps.map(({ logits }, at) => topIds[at].map((id) => logits[id]))),
    logits: packVector(Float32Array.from(steps, ({ logits }, at) => logits[output[at]])),
    log_normalizer: packVector(Float32Array.from(steps, ({ logits }) => logSumExp(logits))),
    vocabulary_size: steps[0].logits.length,
    top_texts: topIds.map((ids) => tokenizer.labels(ids)),
  };
}

/** @param {import("./model.js").Inputs} input */
const packInputs = ({ embeddings, inputs, scale }) => ({ embeddings: packRows(embeddings), inputs: packRows(inputs), scale });

const packLayer = (vectors, layer) => ({
  ...Object.fromEntries(["input", "self_attention", "cross_attention", "feed_forward", "output"].map((name) => [name, packRows(vectors.map((own) => own[name]))])),
  pre_norm: layer.subLayers[0].preNorm,
});

/** log Σ exp. @param {Vector} logits */
function logSumExp(logits) {
  const highest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  return highest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
}
