/** Messages of the view /scale, in English and Hindi. */

import { addMessages } from "../../messages.js";

addMessages({
  scale_title: ["Why divide by √d?", "√d से भाग क्यों?"],
  scale_lead: ["Queries and keys of d random numbers each, drawn here in the page: their dot products grow with d, "
    + "and the gradient of a softmax over large scores vanishes.",
  "d यादृच्छिक संख्याओं वाले प्रश्न और कुंजियाँ, इसी पृष्ठ में चुने गए: d के साथ उनके गुणनफल बढ़ते हैं, और बड़े स्कोरों पर "
    + "softmax की प्रवणता लुप्त हो जाती है।"],
  scale_width: ["Width d", "चौड़ाई d"],
  scale_count: ["Keys n", "कुंजियाँ n"],
  scale_seed: ["Seed", "सीड (seed)"],
  scale_numbers: ["The softmax in numbers", "softmax संख्याओं में"],
  scale_left: ["The scores spread", "स्कोर फैलते हैं"],
  scale_right: ["The softmax saturates", "softmax कठोर होता है"],
  scale_below: ["One softmax, raw and scaled", "एक softmax: बिना और √d के साथ"],
  scale_variance: ["variance of q·k", "q·k का प्रसरण"],
  scale_measured: ["measured", "मापा गया"],
  scale_line: ["y = d", "y = d"],
  scale_d: ["width d", "चौड़ाई d"],
  scale_share: ["mean over {0} queries", "{0} प्रश्नों का माध्य"],
  scale_max_raw: ["largest p, raw", "सबसे बड़ा p, बिना √d"],
  scale_max_scaled: ["largest p, ÷ √d", "सबसे बड़ा p, ÷ √d"],
  scale_gradient_raw: ["Σ p(1−p), raw", "Σ p(1−p), बिना √d"],
  scale_gradient_scaled: ["Σ p(1−p), ÷ √d", "Σ p(1−p), ÷ √d"],
  scale_raw: ["raw: softmax(q·k)", "बिना √d: softmax(q·k)"],
  scale_scaled: ["scaled: softmax(q·k / √d)", "√d के साथ: softmax(q·k / √d)"],
  scale_weight: ["weight p", "भार p"],
  scale_key: ["keys, the largest score first", "कुंजियाँ, सबसे बड़े स्कोर से आरंभ"],
  scale_kind: ["At d = {0}, n = {1}", "d = {0}, n = {1} पर"],
  scale_row_raw: ["raw", "बिना √d"],
  scale_row_scaled: ["divided by √d", "√d से भाग देकर"],
  scale_column_deviation: ["standard deviation of a score", "स्कोर का मानक विचलन"],
  scale_column_max: ["mean largest p", "सबसे बड़े p का माध्य"],
  scale_column_gradient: ["mean Σ p(1−p)", "Σ p(1−p) का माध्य"],
  scale_bound: ["Σ p(1−p) is the sum of the derivatives ∂p/∂score of the softmax. "
    + "With {0} equal weights it is {1}, the maximum; with one weight of 1 it is 0, and no gradient flows.",
  "Σ p(1−p) softmax के अवकलजों ∂p/∂स्कोर का योग है। {0} बराबर भारों पर वह {1} है, "
    + "जो अधिकतम है; एक ही भार 1 हो तो वह 0 है, और प्रवणता नहीं पहुँचती।"],
  scale_vanishes: ["Raw, it falls below a tenth at d = {0} (measured {1}); divided by √d, it is {2} there.",
    "बिना √d के वह d = {0} पर दसवें हिस्से से नीचे गिरता है (मापा गया {1}); √d से भाग देने पर वहाँ {2} है।"],
  scale_persists: ["Raw, it stays above a tenth up to d = {0} (measured {1}); divided by √d, it is {2} there.",
    "बिना √d के वह d = {0} तक दसवें हिस्से से ऊपर रहता है (मापा गया {1}); √d से भाग देने पर वहाँ {2} है।"],
  scale_how: ["The variance is that of {0} pairs of vectors. The means are over {1} queries; of a query q, the score of a "
    + "random key is normal with deviation ‖q‖, and is drawn so. The bars are one query with its keys, drawn number by number.",
  "प्रसरण {0} सदिश-युग्मों का है। माध्य {1} प्रश्नों पर हैं; प्रश्न q के लिए यादृच्छिक कुंजी का स्कोर प्रसामान्य बंटन का होता है, विचलन ‖q‖, "
    + "और वैसे ही चुना जाता है। नीचे के दंड एक प्रश्न और उसकी कुंजियों के हैं, संख्या दर संख्या चुने गए।"],
  scale_point: ["d = {0}: {1} {2}", "d = {0}: {1} {2}"],
  scale_bar: ["key {0}, {1}: p = {2}", "कुंजी {0}, {1}: p = {2}"],
  scale_summary: ["At d = {0} the variance of q·k is {1}; at d = {2} it is {3}.",
    "d = {0} पर q·k का प्रसरण {1} है; d = {2} पर {3}।"],
});

export const lesson = {
  title: ["Why scores are scaled", "स्कोरों को √d से भाग क्यों"],
  text: ["A product of two random numbers has variance 1, and q·k adds up d of them: its variance is d, its typical size √d. At d = 64 scores of 8 and −8 are typical.\nA softmax over such scores gives nearly all its weight to one key. Then p(1−p) is near 0 for every key, and that is what the gradient is multiplied with.",
    "दो यादृच्छिक संख्याओं के गुणनफल का प्रसरण 1 है, और q·k ऐसे d गुणनफल जोड़ता है: उसका प्रसरण d है, उसका सामान्य आकार √d। d = 64 पर 8 और −8 जैसे स्कोर साधारण बात हैं।\nऐसे स्कोरों पर softmax लगभग सारा भार एक कुंजी को दे देता है। तब हर कुंजी पर p(1−p) लगभग 0 है, और प्रवणता उसी से गुणा होती है।"],
  question: ["Divide every score by √d. How does the largest weight then change as d grows from 2 to 1024?",
    "हर स्कोर को √d से भाग दीजिए। d के 2 से 1024 तक बढ़ने पर सबसे बड़ा भार तब कैसे बदलता है?"],
  answer: ["Hardly: the scores have variance 1 at any width, so the largest weight at 1024 is about that at 16. This is the reason for “scaled” in scaled dot-product attention.",
    "लगभग नहीं: हर चौड़ाई पर स्कोरों का प्रसरण 1 है, इसलिए softmax 1024 पर भी उतना ही नरम रहता है जितना 16 पर। scaled dot-product attention में “scaled” का पूरा कारण यही है।"],
};
