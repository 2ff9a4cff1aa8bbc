"""The stations of a sentence's way through a Transformer, told and drawn one after another."""

from collections.abc import Sequence

from torch import Tensor

from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.lessons.shown import Say
from dhyan.lessons.transformer.written_out import Side, Step, Walk

MOST_COLUMNS, MOST_HEADS = 8, 2  # that are drawn


def read_by_encoder(
    side: Side, words: Sequence[str], say: Say, *, pre_norm: bool, without: str = ""
) -> list[Part]:
    """Words and places, the heads' weights, and the vectors after each sub-layer."""
    names, width = _numbered(words), side.entered.shape[1]
    looked, thought = side.step("self_attention"), side.step("feed_forward")
    assert looked is not None
    return [
        Words(f"{_embedding(width, say)} {_positions(without, say)}"),
        _rows(say(f"words × √{width}", f"शब्द × √{width}"), side.embedded, names, after="+"),
        _rows(say("places", "स्थान"), side.positions, names),
        Words(
            say(
                "2. Self-attention: each word mixes in what the others tell it, by weights of its "
                "own in every head.",
                "2. स्व-अवधान: हर शब्द दूसरे शब्दों की बात अपने में मिलाता है, हर हेड में अलग भारों से।",
            )
        ),
        _rows(say("X = words + places", "X = शब्द + स्थान"), side.entered, names),
        *_weights(looked, say),
        Words(f"{_road(without, say, pre_norm=pre_norm)} {_thinking(thought, say)}"),
        *_after(looked, thought, names, say),
    ]


def said_by_decoder(
    walk: Walk, words: Sequence[str], vocabulary: Sequence[str], say: Say
) -> list[Part]:
    """What has been said, both kinds of weights, the last vectors, and the next word."""
    side, names = walk.decoder, _numbered(words)
    recalled, looked = side.step("self_attention"), side.step("cross_attention")
    assert recalled is not None
    assert looked is not None
    return [
        Words(
            say(
                "5. The decoder begins alike, with what has been said from <s> on. Masked "
                "self-attention: no word sees a later one, so all can be trained at once.",
                "5. डिकोडर भी ऐसे ही शुरू करता है, <s> से लेकर अब तक कहे गए शब्दों से। मास्क वाला "
                "स्व-अवधान: कोई शब्द अपने बाद का शब्द नहीं देखता, इसलिए सबका प्रशिक्षण एक साथ हो सकता है।",
            )
        ),
        _rows(say("Y = words + places", "Y = शब्द + स्थान"), side.entered, names),
        *_weights(recalled, say),
        Words(
            say(
                "6. Cross-attention: the output asks, the states of the input answer; a row for "
                "each word of the output, a column for each of the input.",
                "6. क्रॉस-अवधान: आउटपुट पूछता है, इनपुट की अवस्थाएँ उत्तर देती हैं; हर पंक्ति आउटपुट का एक "
                "शब्द है, हर स्तंभ इनपुट का।",
            )
        ),
        _rows(say("after self-attention", "स्व-अवधान के बाद"), recalled.after, names),
        *_weights(looked, say),
        Words(
            say(
                "7. Output: the last vector of each place meets the vector of every word, and the "
                "softmax turns these scores into the chances of the next word.",
                "7. आउटपुट: हर स्थान का अंतिम सदिश हर शब्द के सदिश से मिलाया जाता है, और softmax इन अंकों "
                "को अगले शब्द की प्रायिकताओं में बदलता है।",
            )
        ),
        _rows(say("last vectors", "अंतिम सदिश"), side.states, names, after="→"),
        table(
            say("the next word", "अगला शब्द"), walk.chances, names, tuple(vocabulary), kind="weights"
        ),
    ]


def left_undrawn(width: int, heads: int, layers: int, say: Say) -> str:
    """What of a large one is not drawn."""
    told = []
    if width > MOST_COLUMNS:
        told.append(
            say(
                f"Of every vector the first {MOST_COLUMNS} numbers are drawn.",
                f"हर सदिश की पहली {MOST_COLUMNS} संख्याएँ दिखाई गई हैं।",
            )
        )
    if heads > MOST_HEADS:
        told.append(
            say(
                f"Of the heads the first {MOST_HEADS} are drawn.",
                f"केवल पहले {MOST_HEADS} हेड दिखाए गए हैं।",
            )
        )
    if layers > 1:
        told.append(
            say("Stations 2 to 6 are those of the first layer.", "पड़ाव 2 से 6 पहली परत के हैं।")
        )
    return " ".join(told)


def _embedding(width: int, say: Say) -> str:
    return say(
        f"1. Embedding: the word's row of a table, times √{width}.",
        f"1. एम्बेडिंग: सारणी में शब्द की पंक्ति, गुणा √{width}।",
    )


def _positions(without: str, say: Say) -> str:
    if without == "positions":
        return say(
            "Positions: none are added, so nothing says where a word stands.",
            "स्थान: कुछ नहीं जोड़ा जाता, इसलिए शब्द कहाँ है, यह कहीं नहीं लिखा।",
        )
    return say(
        "Positions: the vector of its place is added, for attention by itself is blind to order.",
        "स्थान: उसकी जगह का सदिश जोड़ा जाता है, क्योंकि अवधान को अपने-आप क्रम नहीं दिखता।",
    )


def _road(without: str, say: Say, *, pre_norm: bool) -> str:
    """What is done with what a sub-layer finds, and where the size of vectors is set right."""
    added = say(
        "3. Residual: what is found is added to the vector, so that the word stays in it.",
        "3. अवशिष्ट योग (residual): जो मिला, वह सदिश में जोड़ा जाता है, ताकि शब्द उसमें बना रहे।",
    )
    if without == "residuals":
        added = say(
            "3. Without the residual what is found takes the vector's place.",
            "3. अवशिष्ट योग (residual) के बिना: जो मिला, वही सदिश की जगह ले लेता है।",
        )
    if without == "normalisation":
        return added
    first = say("what a part reads", "कोई भाग जो पढ़ता है, उसे"), say("the result", "परिणाम को")
    return f"{added} " + say(
        f"Normalisation: {first[not pre_norm]} is brought to one size.",
        f"सामान्यीकरण (normalisation): {first[not pre_norm]} एक ही पैमाने पर लाया जाता है।",
    )


def _thinking(thought: Step | None, say: Say) -> str:
    if thought is None or thought.hidden is None:
        return say("4. There is no feed-forward.", "4. फ़ीड-फ़ॉरवर्ड नहीं है।")
    width, hidden = thought.read.shape[1], thought.hidden.shape[1]
    return say(
        f"4. Feed-forward: each word is worked on by itself, {width} numbers → {hidden} → {width}.",
        f"4. फ़ीड-फ़ॉरवर्ड: हर शब्द पर अलग से काम होता है, {width} संख्याएँ → {hidden} → {width}।",
    )


def _after(looked: Step, thought: Step | None, names: Sequence[str], say: Say) -> list[Table]:
    """The vectors after either sub-layer, if there are two."""
    first = say("after attention", "अवधान के बाद")
    if thought is None:
        return [_rows(first, looked.after, names)]
    second = say("after feed-forward", "फ़ीड-फ़ॉरवर्ड के बाद")
    return [_rows(first, looked.after, names, after="→"), _rows(second, thought.after, names)]


def _rows(title: str, x: Tensor, names: Sequence[str], *, after: str = "") -> Table:
    """The first numbers of every vector, none of them −0."""
    shown = x[:, :MOST_COLUMNS].round(decimals=1) + 0.0
    return table(title, shown, names, digits=1, after=after)


def _weights(step: Step, say: Say) -> list[Table]:
    """The weights of the first heads; rows and columns are numbered as the words are."""
    assert step.look is not None
    rows, columns = (
        [str(place) for place in range(1, count + 1)] for count in step.look.weights.shape[1:]
    )
    return [
        table(say(f"head {number}", f"हेड {number}"), one, rows, columns, kind="weights")
        for number, one in enumerate(step.look.weights[:MOST_HEADS], 1)
    ]


def _numbered(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{place} {word}" for place, word in enumerate(words, 1))
