/** Messages of the view /layers, in English and Hindi. */

import { addMessages } from "../../messages.js";

export const lesson = {
  title: ["Prediction after every layer", "हर परत के बाद का अनुमान"],
  text: ["Each decoder layer adds to one vector per position; the output layer turns the last of these into probabilities. The logit lens (nostalgebraist, 2020) applies the final normalisation and the same output layer after every layer.\nBefore the first layer the vector is the embedding of the token just read; if the output layer has the same weights, the lens shows that token. Layer by layer the next token takes its place.\nThe early columns are a reading, not something the model says: it was trained on the output of its last layer only.",
    "डिकोडर की हर परत प्रति स्थान एक ही सदिश में कुछ जोड़ती है; आउटपुट परत अंतिम सदिश से प्रायिकताएँ बनाती है। लॉजिट लेंस (logit lens; nostalgebraist, 2020) हर परत के बाद अंतिम प्रसामान्यीकरण और वही आउटपुट परत लगाता है।\nपहली परत से पहले सदिश अभी पढ़े गए टोकन की एम्बेडिंग है; आउटपुट परत के भार भी वही हों तो लेंस वही टोकन दिखाता है। परत-दर-परत अगला टोकन उसकी जगह लेता है।\nबीच के अनुमान केवल एक पाठ हैं, मॉडल का कथन नहीं: प्रशिक्षण केवल अंतिम परत के आउटपुट पर हुआ था।"],
  question: ["Hindi verbs agree in gender. After which layer does the ending of the verb fit “My sister works in a hospital.”?",
    "हिंदी की क्रिया लिंग के अनुसार बदलती है। “My sister works in a hospital.” में क्रिया का रूप किस परत के बाद ठीक होता है?"],
  answer: ["Find the row whose output is the verb (करती) and read it from left to right. With the small pretrained Transformer the first layer still prefers the masculine form, करता; the second, which is the last, gives करती.",
    "वह पंक्ति खोजिए जिसका आउटपुट क्रिया (करती) है, और बाएँ से दाएँ पढ़िए। छोटे पूर्व-प्रशिक्षित Transformer में पहली परत के बाद पुल्लिंग रूप करता आगे है; दूसरी, यानी अंतिम परत करती देती है।"],
};

addMessages({
  layers_title: ["Prediction after every layer (logit lens)", "हर परत के बाद का अनुमान (logit lens)"],
  layers_recurrent: ["{0} has no Transformer decoder: the layers of a recurrent decoder do not add to one vector that the output layer could read, so there is no prediction after each of them.",
    "{0} का डिकोडर Transformer नहीं है: आवर्ती डिकोडर की परतें किसी एक सदिश में नहीं जुड़तीं जिसे आउटपुट परत पढ़ सके, इसलिए हर परत के बाद का अनुमान नहीं है।"],
  layers_copying: ["{0} copies words of the sentence, so its output does not follow from its last layer alone: there is no prediction after each layer.",
    "{0} मूल वाक्य से शब्द नक़ल करता है, इसलिए उसका आउटपुट केवल अंतिम परत से नहीं बनता: हर परत के बाद का अनुमान नहीं है।"],
  layers_use: ["Use {0}", "{0} चुनिए"],
  layers_grid: ["Most probable token after each layer: a row for each position, a column for each layer", "हर परत के बाद का सबसे संभावित टोकन: हर स्थान की एक पंक्ति, हर परत का एक स्तंभ"],
  layers_reads: ["reads", "पढ़ता है"],
  layers_embedding: ["embedding", "एम्बेडिंग"],
  layers_layer: ["layer {0}", "परत {0}"],
  layers_last: ["layer {0}: the model", "परत {0}: मॉडल"],
  layers_output: ["output", "आउटपुट"],
  layers_cell: ["{0}, after {1}: {2}, probability {3}", "{0}, {1} के बाद: {2}, प्रायिकता {3}"],
  layers_legend: ["The number is the probability of the token shown. Bold with ✓: the token of the translation.", "संख्या दिखाए गए टोकन की प्रायिकता है। मोटा और ✓: अनुवाद का टोकन।"],
  layers_first: ["Of {0} tokens of the translation, {1} lead after {2}.", "अनुवाद के {0} टोकनों में से {1}, {2} के बाद ही सबसे आगे हैं।"],
  layers_changed: ["The last layer changes {0}.", "अंतिम परत ने बदला: {0}।"],
  layers_change: ["{0} to {1}", "{0} के स्थान पर {1}"],
  layers_kept: ["The last layer changes no token, only probabilities.", "अंतिम परत ने कोई टोकन नहीं बदला, केवल प्रायिकताएँ।"],
  layers_position: ["Position {0}: reads {1}, output {2}", "स्थान {0}: पढ़ा {1}, आउटपुट {2}"],
  layers_rank: ["{0}: rank {1}, probability {2}", "{0}: क्रम {1}, प्रायिकता {2}"],
  layers_done: ["{0} · {1} layers · {2} positions", "{0} · {1} परतें · {2} स्थान"],
});
