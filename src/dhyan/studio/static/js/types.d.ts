/**
 * Types of what the studio's routes answer and what modules pass to each other, for the type check
 * of `make lint`. They are global: a JSDoc comment names them without an import, and the page never
 * loads this file.
 */

/** A tensor as `numbers.unpack` reads it: 32-bit floats in base64. */
interface Packed { shape: number[]; data: string | Float32Array }

/** A linear layer; the bias may be absent. */
interface PackedLayer { weight: Packed; bias: Packed | null }

type Role = "encoder_self" | "decoder_self" | "cross";

interface Token { text: string; id: number; word: number; special: boolean }

/** One sentence: its tokens, and the words they form. */
interface Side { tokens: Token[]; words: string[] }

/** A decoding step: the token's log-probability, and the most probable tokens with their probabilities. */
interface TraceStep { logprob: number; top_tokens: [string, number][] }

/** An attention's weights: heads, rows that attend, columns attended to. */
interface AttentionBlock extends Packed { name: string; role: Role; layer: number }

/** One translated sentence, as `dhyan.insight.trace`. */
interface Trace {
  schema: string;
  model: string;
  text: string;
  translation: string;
  finished: boolean;
  source: Side;
  decoder_input: Side;
  target: Side;
  steps: TraceStep[];
  attention: AttentionBlock[];
  score: number;
  unknown_words?: string[];
  task?: string;
  figure?: string;
  picture?: TracedPicture | null;
  sound?: TracedSound | null;
}

/** A picture as a data URI, its size, and the part of it (left, top, right, bottom) that each frame shows. */
interface TracedPicture { uri: string; width: number; height: number; boxes: [number, number, number, number][] }

/** A sound as a data URI of a WAV file, and the lowest and highest sample of equal spans. */
interface TracedSound { uri: string; seconds: number; frame_seconds: number; outline: [number, number][] }

/** What a figure of a task is drawn from: the trace, its attention by words, and what a word that is chosen calls. */
interface FigureOptions {
  trace: Trace;
  view: any;
  card: Partial<ModelCard>;
  selected: [number, number];
  onFocus: (row: number | null, column: number | null) => void;
  onHover: (row: number | null, column: number | null) => void;
}

/** A figure of a task; what it has no use for may be absent. */
type TaskFigure = HTMLElement & {
  setCrosshair?: (row: number | null, column: number | null) => void;
  setFocus?: (cell: [number, number], options: { focus: boolean }) => void;
  setPinned?: (row: number | null) => void;
  summary?: () => string;
};

/** Tokens or words of a sequence, each with its tokens. */
interface Unit { text: string; special: boolean; tokens: number[] }

/** Facts about a model, as `dhyan.studio.model_cards`. */
interface ModelCard {
  name: string;
  about: string;
  encoder: string;
  decoder: string;
  score: string;
  source_language: string;
  target_language: string;
  task: string;
  synthetic: string;
  source: "text" | "picture";
  codecs: boolean;
  saved: string;
  views: string[];
  test_scores: Record<string, number>;
  test: string;
}

/** All attention steps of a recurrent decoder, as `dhyan.insight.decoder_step_operands`. */
interface PackedSteps {
  score: string;
  attends_after_step: boolean;
  queries: Packed;
  states: Packed;
  query_layer: PackedLayer | null;
  key_layer: PackedLayer | null;
  energy: Packed | null;
  projected_queries: Packed | null;
  keys: Packed;
  tanh: Packed | null;
  scores: Packed;
  visibility: Packed;
  weights: Packed;
  contexts: Packed;
  combine: PackedLayer | null;
  attentional: Packed | null;
}

/** One head of a Transformer, as `dhyan.insight.head_operands`, and the contexts of all heads. */
interface PackedHead {
  query_inputs: Packed;
  memory_inputs: Packed;
  query: { weight: Packed; bias: Packed };
  key: { weight: Packed; bias: Packed };
  value: { weight: Packed; bias: Packed };
  queries: Packed;
  keys: Packed;
  values: Packed;
  scale: number;
  scores: Packed;
  mask: Packed;
  weights: Packed;
  context: Packed;
  output: Packed;
  layer_output: Packed;
  contexts: Packed[];
  output_weights: Packed[];
  bias: Packed;
}

/** A hypothesis of a beam search, as `dhyan.insight.beam_tree`. */
interface BeamNode {
  step: number;
  parent: number;
  token: string;
  special: boolean;
  text: string;
  logprob: number;
  score: number;
  score_by_length: number;
  rank: number;
  fate: "kept" | "finished" | "dropped";
  attention: number[];
}

interface BeamTree {
  beam: number;
  length_penalty: number;
  source: string[];
  nodes: BeamNode[];
  results: number[];
  greedy: string[];
  greedy_text: string;
  greedy_score: number;
  greedy_path: number[];
}

/** A table of numbers for export. */
interface NumberTable { values: number[][]; rows: string[]; columns: string[] }

/** What a view offers for export. */
interface ExportData {
  picture?: Element | null;
  table?: NumberTable | null;
  /** Whether the view shows the figure of the model's task. */
  of_task?: boolean;
  trace?: Trace | null;
}

/** An open view of the page. */
interface View {
  node: HTMLElement;
  update?: (changed: Set<string>) => void;
  close?: () => void;
  exportData?: () => ExportData;
  /** Whether it shows the sentence of the header; true if absent. */
  showsSentence?: () => boolean;
}

/** What `el` and its like take as a child; what is absent is left out. */
type Child = Node | string | null | undefined | false;

/** Attributes of an element; `on` holds listeners, `style` CSS properties. */
interface Attributes {
  on?: Record<string, (event: any) => unknown>;
  style?: Record<string, string | number>;
  [name: string]: unknown;
}

/** Every element of the page is HTML, SVG or MathML: all have a style, a data set and a focus. */
interface Element extends HTMLOrSVGElement, ElementCSSInlineStyle {}

/** The parts of index.html and of the header are always there; what only some pages have may be null. */
interface ParentNode {
  querySelector(selector: "#sentence"): HTMLTextAreaElement;
  querySelector(selector: "#model" | "#beam"): HTMLSelectElement;
  querySelector(selector: "#copy-link" | "#export" | "#send"): HTMLButtonElement;
  querySelector(selector: ".sentence-field" | "#view" | "#lesson" | "#header" | "#navigation" | "#status" | "#theme" | "#model-scores" | "#sentence-mark" | "#sentence-length" | "body > footer"): HTMLElement;
  querySelector(selector: `#view select${string}` | `select[${string}`): HTMLSelectElement | null;
  querySelector(selector: "[aria-current]"): HTMLElement | null;
}

/** The last element, as with an index: the caller knows that there is one. */
interface Array<T> { at(index: -1): T }
