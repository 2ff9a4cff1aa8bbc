"""The lessons in the order of the ladder: what each is called, where it lives, what it shows."""

from difflib import get_close_matches

from dhyan.errors import UserError
from dhyan.lessons.entry import Lesson

LESSONS = (
    Lesson(
        "lengths",
        "A1, F7",
        "sequences.lengths",
        "any length in, any length out: padding changes nothing, and nothing is cut",
        "इनपुट और आउटपुट किसी भी लंबाई के: padding से कुछ नहीं बदलता, और कुछ नहीं कटता",
    ),
    Lesson(
        "unrolled",
        "A2, A3",
        "sequences.unrolled",
        "the encoder-decoder unrolled: every state, the context vector, every step",
        "खोलकर देखा गया एनकोडर-डिकोडर: हर अवस्था, संदर्भ सदिश और हर चरण",
    ),
    Lesson(
        "fading",
        "A2",
        "sequences.fading",
        "how the gradient fades with distance in a plain RNN, a GRU and an LSTM",
        "सादे RNN, GRU और LSTM में दूरी के साथ प्रवणता का क्षय",
    ),
    Lesson(
        "one_hot",
        "A4, A8",
        "sequences.one_hot",
        "one-hot vectors, the embedding in them, and what 100,000 words cost",
        "one-hot सदिश, उनमें छिपी एम्बेडिंग, और 100,000 शब्दों की लागत",
    ),
    Lesson(
        "forcing",
        "A5",
        "sequences.forcing",
        "teacher forcing against free running: two trainings, side by side",
        "teacher forcing बनाम free running: दो प्रशिक्षण, साथ-साथ",
    ),
    Lesson(
        "loss",
        "A6",
        "sequences.loss",
        "categorical cross-entropy: per word, total and average",
        "श्रेणीगत क्रॉस-एंट्रॉपी: हर शब्द की, कुल और औसत हानि",
    ),
    Lesson(
        "greedy",
        "A7",
        "sequences.greedy",
        "greedy decoding step by step, beside a beam",
        "लालची (greedy) खोज, चरण-दर-चरण, और साथ में beam",
    ),
    Lesson(
        "depth",
        "A9",
        "sequences.depth",
        "what each layer of a deep RNN knows of words and of sentences, as probes find it",
        "गहरे RNN की हर परत शब्दों और वाक्यों के बारे में क्या जानती है: probe से जाँच",
    ),
    Lesson(
        "improvements",
        "A10, A8, A9",
        "sequences.improvements",
        "three improvements measured: embeddings, deep LSTMs, the sentence read backwards",
        "मापे हुए तीन सुधार: एम्बेडिंग, गहरे LSTM, वाक्य को उलटा पढ़ना",
    ),
    Lesson(
        "bottleneck",
        "B1, B5",
        "encoder_decoder.bottleneck",
        "one state for a whole sentence: BLEU by length, from a report of dhyan compare",
        "पूरे वाक्य के लिए एक ही अवस्था: लंबाई के अनुसार BLEU, dhyan compare की रिपोर्ट से",
    ),
    Lesson(
        "context",
        "B2, B6, F2",
        "encoder_decoder.context",
        "a context for every word: c_i = Σ_j α_ij h_j, and what the decoder is told",
        "हर शब्द का अपना संदर्भ: c_i = Σ_j α_ij h_j, और डिकोडर को क्या मिलता है",
    ),
    Lesson(
        "bahdanau",
        "B3",
        "encoder_decoder.bahdanau",
        "additive attention by hand, or inside a trained model: vᵀ tanh(W [s; h] + b)",
        "योगात्मक अवधान हाथ से, या प्रशिक्षित मॉडल के भीतर: vᵀ tanh(W [s; h] + b)",
    ),
    Lesson(
        "luong",
        "B4",
        "encoder_decoder.luong",
        "multiplicative attention: dot, general, concat, and s̃ = tanh(W_c [c; s])",
        "गुणनात्मक अवधान: dot, general, concat, और s̃ = tanh(W_c [c; s])",
    ),
    Lesson(
        "prices",
        "B4",
        "encoder_decoder.prices",
        "why the dot product: parameters, multiply-adds and time of each score",
        "अदिश गुणनफल क्यों: हर अंक-विधि के प्राचल, गुणा-जोड़ और समय",
    ),
    Lesson(
        "counts",
        "C1",
        "word_vectors.counts",
        "one-hot, bag of words as counts and presence, TF-IDF",
        "one-hot, शब्दों का थैला (गिनती और उपस्थिति के रूप में), TF-IDF",
    ),
    Lesson(
        "neighbours",
        "C2",
        "word_vectors.neighbours",
        "word vectors learned by skip-gram or read from a file: neighbours and analogies",
        "skip-gram से सीखे या फ़ाइल से पढ़े शब्द-सदिश: पड़ोसी शब्द और सादृश्य",
    ),
    Lesson(
        "average_meaning",
        "C3, F3",
        "word_vectors.average_meaning",
        "one static vector for apple or bank, and where it lies between its meanings",
        "apple या bank का एक ही स्थिर सदिश, और वह अपने अर्थों के बीच कहाँ है",
    ),
    Lesson(
        "mixing",
        "D1",
        "self_attention.mixing",
        "a word as a mixture of its sentence: bank beside money and beside a river",
        "शब्द, अपने वाक्य का मिश्रण: money के साथ bank और river के साथ bank",
    ),
    Lesson(
        "parameter_free",
        "D2",
        "self_attention.parameter_free",
        "softmax(X Xᵀ) X: dot products as weights, no parameters, all words in one go",
        "softmax(X Xᵀ) X: भार के रूप में अदिश गुणनफल, कोई प्राचल नहीं, सब शब्द एक साथ",
    ),
    Lesson(
        "order",
        "D2",
        "self_attention.order",
        "attention is blind to order, until positions are added",
        "अवधान को क्रम नहीं दिखता, जब तक स्थान न जोड़े जाएँ",
    ),
    Lesson(
        "roles",
        "D3",
        "self_attention.roles",
        "query, key and value: a dictionary asked softly, and three roles for a vector",
        "प्रश्न, कुंजी और मान: डिक्शनरी में नरम खोज, और एक सदिश की तीन भूमिकाएँ",
    ),
    Lesson(
        "idioms",
        "D3",
        "self_attention.idioms",
        "piece of cake and break a leg by a trained model: is it learned Q, K, V that reads them?",
        "प्रशिक्षित मॉडल में मुहावरे: piece of cake, break a leg; क्या यह सीखे हुए Q, K, V का काम है?",
    ),
    Lesson(
        "senses",
        "D3, C3",
        "self_attention.senses",
        "the vectors of bank in a trained encoder: do they part by meaning, and is it learned?",
        "प्रशिक्षित एनकोडर में bank के सदिश: क्या वे अर्थ के अनुसार अलग होते हैं, क्या यह सीखा हुआ है?",
    ),
    Lesson(
        "tasks",
        "D3",
        "self_attention.tasks",
        "one sentence, two tasks: the vectors that translating makes, and those of sentiment",
        "एक वाक्य, दो काम: अनुवाद से बने सदिश और भाव पहचानने से बने सदिश",
    ),
    Lesson(
        "by_hand",
        "D4, D5, D5b",
        "self_attention.by_hand",
        "self-attention by hand: queries, keys, values, scores, weights, outputs",
        "स्व-अवधान हाथ से: प्रश्न, कुंजी, मान, अंक, भार और आउटपुट",
    ),
    Lesson(
        "scaled",
        "D6",
        "self_attention.scaled",
        "why the scores are divided by √dk: variance, saturation, gradients in training",
        "अंकों को √dk से भाग क्यों देते हैं: प्रसरण, संतृप्ति और प्रशिक्षण में प्रवणता",
    ),
    Lesson(
        "gravity",
        "D7",
        "self_attention.gravity",
        "self-attention as gravity: bank is drawn to money, or to the river",
        "स्व-अवधान, गुरुत्वाकर्षण की तरह: bank खिंचता है money की ओर, या river की ओर",
    ),
    Lesson(
        "why_self",
        "D8",
        "self_attention.why_self",
        "why “self”, why “attention”: Luong's three steps across two sequences and within one",
        "“स्व” क्यों, “अवधान” क्यों: लुओंग के तीन चरण, दो अनुक्रमों के बीच और एक के भीतर",
    ),
    Lesson(
        "heads",
        "E1, E2, F6",
        "transformer.heads",
        "many heads: one table of weights holds one reading, two hold two",
        "कई हेड: भारों की एक सारणी में एक ही अर्थ, दो में दो",
    ),
    Lesson(
        "attachment",
        "E2",
        "transformer.attachment",
        "one head against several of equal width: to which word does a phrase belong?",
        "एक हेड और उतनी ही चौड़ाई के कई हेड: वाक्यांश किस शब्द से जुड़ता है?",
    ),
    Lesson(
        "mask",
        "E3, F4",
        "transformer.mask",
        "masked attention: −∞ above the diagonal before the softmax, not zeros after it",
        "मास्क वाला अवधान: softmax से पहले विकर्ण के ऊपर −∞, न कि उसके बाद शून्य",
    ),
    Lesson(
        "leak",
        "E3",
        "transformer.leak",
        "edit a later word: with the mask nothing before it moves",
        "आगे का कोई शब्द बदलिए: मास्क हो तो उससे पहले कुछ नहीं हिलता",
    ),
    Lesson(
        "parallel",
        "E3",
        "transformer.parallel",
        "training on all words at once: same loss, same gradients, one run of the decoder",
        "सब शब्दों पर एक साथ प्रशिक्षण: हानि वही, प्रवणताएँ वही, डिकोडर एक ही बार चलता है",
    ),
    Lesson(
        "cheating",
        "E3",
        "transformer.cheating",
        "trained without the mask a model cheats: loss near 0, and nothing to say",
        "मास्क के बिना प्रशिक्षित मॉडल नक़ल करता है: हानि लगभग 0, पर अपने-आप कहने को कुछ नहीं",
    ),
    Lesson(
        "cross",
        "E4, F5",
        "transformer.cross",
        "cross-attention: queries from the output, keys and values from the input",
        "क्रॉस-अवधान: प्रश्न आउटपुट से, कुंजियाँ और मान इनपुट से",
    ),
    Lesson(
        "transformer",
        "E5",
        "transformer.transformer",
        "a whole Transformer on one sentence: every part, its parameters, what it is for",
        "एक वाक्य पर पूरा Transformer: हर भाग, उसके प्राचल, और वह किसलिए है",
    ),
    Lesson(
        "toy",
        "F1",
        "sequences.toy",
        "the toy corpus: characters, ids, one-hot vectors, decoder steps, one update, training",
        "नन्हा कॉर्पस: वर्ण, id, one-hot सदिश, डिकोडर का हर चरण, एक अद्यतन और प्रशिक्षण",
    ),
    Lesson(
        "perspectives",
        "F8",
        "transformer.perspectives",
        "a paragraph summarised from two perspectives: a head for each, or one for both",
        "दो दृष्टिकोणों से एक अनुच्छेद का सारांश: हर एक का अपना हेड, या दोनों के लिए एक",
    ),
)


def lesson(name: str) -> Lesson:
    """The lesson of a name."""
    for one in LESSONS:
        if one.name == name.replace("-", "_"):
            return one
    near = get_close_matches(name, [one.name for one in LESSONS], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no lesson {name!r}{hint} `dhyan lesson` lists them")
