/** Messages of the page, in English and Hindi. */

import { state } from "./state.js";

const MESSAGES = {
  skip: ["Skip to the view", "सीधे चित्र पर जाइए"],
  sentence: ["Sentence", "वाक्य"],
  write: ["Write a sentence in English", "अंग्रेज़ी में एक वाक्य लिखिए"],
  translate: ["Translate", "अनुवाद"],
  model: ["Model", "मॉडल"],
  search: ["Search", "खोज"],
  greedy: ["greedy", "लालची (greedy)"],
  beam: ["beam {0}", "beam {0}"],
  examples: ["Examples", "उदाहरण"],
  link: ["Link", "लिंक"],
  copy_link: ["Copy the link of this picture", "इस चित्र का लिंक कॉपी कीजिए"],
  copied: ["The link is copied.", "लिंक कॉपी हो गया।"],
  export: ["Export", "निर्यात"],
  theme: ["Theme", "रंग"],
  auto: ["as the system", "सिस्टम जैसा"],
  light: ["light", "हल्का"],
  dark: ["dark", "गहरा"],
  language: ["Language", "भाषा"],
  keys: ["Keys", "कुंजियाँ"],
  views: ["Views", "दृश्य"],
  lesson: ["Lesson", "पाठ"],
  predict: ["Predict first", "पहले अनुमान लगाइए"],
  reveal: ["Show the answer", "उत्तर देखिए"],
  close: ["Close", "बंद कीजिए"],
  ready: ["Ready. Write a sentence and press Enter.", "तैयार। वाक्य लिखिए और Enter दबाइए।"],
  no_model: ["There is no model here. Train one with `dhyan train numbers` and start the studio again, or train a small task in the Training view.",
    "यहाँ कोई मॉडल नहीं है। `dhyan train numbers` से एक मॉडल प्रशिक्षित करके स्टूडियो फिर से चलाइए, या “प्रशिक्षण” दृश्य में कोई छोटा काम सिखाइए।"],
  scores_title: ["On sentences it was not trained on: the held-out test set {0}", "जिन वाक्यों पर प्रशिक्षण नहीं हुआ, उन पर: अलग रखा गया परीक्षण-समुच्चय {0}"],
  working: ["Translating …", "अनुवाद हो रहा है …"],
  done: ["{0} · {1} tokens · {2} ms", "{0} · {1} टोकन · {2} ms"],
  summary: ["{0} words; largest weight {1} ← {2}, {3}.", "{0} शब्द; सबसे बड़ा भार {1} ← {2}, {3}।"],
  attends: ["{0} attends to {1}: {2}", "{0} का ध्यान {1} पर: {2}"],
  unreachable: ["The server does not answer. Is `dhyan studio` still running? Start it again and reload.",
    "सर्वर उत्तर नहीं दे रहा। क्या `dhyan studio` चल रहा है? उसे फिर से चलाकर पृष्ठ दोबारा खोलिए।"],
  stopped: ["The server stopped during the response. Start `dhyan studio` again and retry.",
    "सर्वर उत्तर के बीच में रुक गया। `dhyan studio` फिर से चलाइए और दोबारा कोशिश कीजिए।"],
  trace_only: ["This is a saved trace without its model. To translate other sentences, open the model in `dhyan studio`.",
    "यह एक सहेजा हुआ अभिलेख है, इसके साथ कोई मॉडल नहीं है। और देखने के लिए मॉडल को `dhyan studio` में खोलिए।"],
  server_only: ["This page is one file with a model inside. What you asked for needs `dhyan studio`.",
    "यह पृष्ठ एक ही फ़ाइल है, जिसके भीतर एक मॉडल है। इसके लिए `dhyan studio` चाहिए।"],
  model_loading: ["Reading the model …", "मॉडल पढ़ा जा रहा है …"],
  model_failed: ["The model inside this page could not be read; is the file complete?",
    "इस पृष्ठ के भीतर का मॉडल पढ़ा नहीं जा सका; क्या फ़ाइल पूरी है?"],
  saved: ["A saved trace of {0}", "{0} का सहेजा हुआ अभिलेख"],
  corrected: ["The link had an invalid value; {0} is now {1}.",
    "लिंक में एक मान ठीक नहीं था; {0} अब {1} है।"],
  map: ["map", "मानचित्र"],
  ribbons: ["ribbons", "पट्टियाँ"],
  table: ["table", "सारणी"],
  words: ["words", "शब्द"],
  tokens: ["tokens", "टोकन"],
  unit: ["Units", "इकाई"],
  scale: ["Colours", "रंग-मान"],
  linear: ["linear", "रैखिक"],
  square_root: ["square root", "वर्गमूल"],
  specials: ["special tokens", "विशेष टोकन"],
  view_settings: ["View", "दिखावट"],
  specials_row: ["Sentence end", "वाक्य का अंत"],
  numbers_row: ["Cells", "ख़ाने"],
  latin_row: ["Hindi", "हिंदी"],
  scale_auto: ["automatic", "स्वतः"],
  skip_picture: ["Skip to the picture", "सीधे चित्र पर जाइए"],
  too_long: ["{0} characters; at most {1} are translated. Shorten the sentence by {2}.",
    "{0} वर्ण; अधिकतम {1} का अनुवाद होता है। वाक्य को {2} वर्ण छोटा कीजिए।"],
  unknown_model: ["There is no model {0} here; {1} is used instead.", "यहाँ {0} नाम का कोई मॉडल नहीं है; उसकी जगह {1} है।"],
  corrected_text: ["The sentence of the link was too long; its first {0} characters are here.",
    "लिंक का वाक्य बहुत लंबा था; उसके पहले {0} वर्ण यहाँ हैं।"],
  unseen_scores: ["unseen: {0}", "अनदेखे: {0}"],
  unscored: ["not scored on unseen sentences", "अनदेखे वाक्यों पर जाँचा नहीं गया"],
  task_copy: ["Toy task: it copies letters. Write letters with spaces between them, as in “n a m a s t e”.",
    "छोटा काम: वर्णों की नक़ल। वर्णों के बीच ख़ाली जगह रखिए, जैसे “n a m a s t e”।"],
  task_reverse: ["Toy task: it reverses letters. Write letters with spaces between them, as in “n a m a s t e”.",
    "छोटा काम: वर्णों को उलटना। वर्णों के बीच ख़ाली जगह रखिए, जैसे “n a m a s t e”।"],
  task_dates: ["Toy task: it turns dates such as “25 march 1998” into 1998-03-25.",
    "छोटा काम: “25 march 1998” जैसी तारीख़ को 1998-03-25 में बदलना।"],
  layer: ["Layer", "परत"],
  head: ["Head", "हेड"],
  average: ["mean of heads", "हेडों का माध्य"],
  largest: ["largest of heads", "हेडों में सबसे बड़ा"],
  sum: ["Σ = {0}", "Σ = {0}"],
  entropy: ["entropy {0} bits", "एंट्रॉपी {0} बिट"],
  alternatives: ["Alternatives", "विकल्प"],
  bottleneck: ["This model has one vector for the whole sentence: all attention is on the last encoder state, "
    + "at every step.", "इस मॉडल के पास पूरे वाक्य के लिए एक ही सदिश है: हर चरण पर सारा ध्यान एनकोडर की "
    + "अंतिम अवस्था पर है।"],
  no_attention: ["This model has no attention: the last encoder state starts the decoder, and the decoder reads nothing else of the sentence.",
    "इस मॉडल में अवधान नहीं है: एनकोडर की अंतिम अवस्था से डिकोडर शुरू होता है, और वाक्य से वह और कुछ नहीं पढ़ता।"],
  empty_view: ["No sentence yet: write one above, or choose an example.",
    "अभी कोई वाक्य नहीं है: ऊपर लिखिए या कोई उदाहरण चुनिए।"],
  heatmap_label: ["Attention: each row is a word of the translation, each column a word of the sentence",
    "अवधान: हर पंक्ति अनुवाद का एक शब्द है, हर स्तंभ मूल वाक्य का एक शब्द"],
  view_translate: ["Translate", "अनुवाद"],
  view_beam: ["Beam", "बीम"],
  view_layers: ["Layers", "परतें"],
  view_step: ["One step", "एक चरण"],
  view_qkv: ["Q K V", "Q K V"],
  view_heads: ["Heads", "हेड"],
  view_mask: ["The mask", "मास्क"],
  view_gravity: ["Gravity", "गुरुत्व"],
  view_scale: ["Why √d", "√d क्यों"],
  view_length: ["Length", "लंबाई"],
  view_train: ["Training", "प्रशिक्षण"],
  view_compare: ["Compare", "तुलना"],
};

/** The current language. */
export const lang = () => state.language ?? "en";

/** A message in the current language, with {0}, {1} … replaced. @param {string} key */
export function message(key, ...values) {
  const pair = MESSAGES[key];
  if (!pair) throw new Error(`no message for ${key}`);
  const text = pair[lang() === "hi" ? 1 : 0];
  return text.replace(/\{(\d)\}/g, (_, number) => String(values[Number(number)]));
}

/** Whether a key has a message. */
export const hasMessage = (key) => key in MESSAGES;

/** Register the messages of a view. @param {Record<string, [string, string]>} messages */
export function addMessages(messages) {
  Object.assign(MESSAGES, messages);
}
