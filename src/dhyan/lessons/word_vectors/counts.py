"""Texts as numbers without learning: one-hot, bag of words as counts and presence, TF-IDF."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Words, table
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.text import bag_of_words as counting

TEXTS = "mat cat mat / cat rat rat"


@dataclass(frozen=True)
class Counts(Shown):
    """Each text as vectors, one number for every word of the vocabulary."""

    texts: tuple[tuple[str, ...], ...]
    vocabulary: tuple[str, ...]
    one_hot: tuple[Float64[Tensor, "_ V"], ...]
    counts: Float64[Tensor, "N V"]
    presence: Float64[Tensor, "N V"]
    rarity: Float64[Tensor, " V"]
    tf_idf: Float64[Tensor, "N V"]

    def story(self, say: Say) -> Story:
        """A word at a time, then a text at a time, then what is rare made heavier."""
        rows = tuple(str(number) for number in range(1, len(self.texts) + 1))
        known, n = self.vocabulary, len(self.texts)
        hot = tuple(
            table(f"{name}: one-hot", one, text, known)
            for name, text, one in zip(rows, self.texts, self.one_hot, strict=True)
        )
        return Story(
            say("Words counted", "गिने हुए शब्द"),
            (
                Words(
                    say(
                        "One-hot gives every word a place of its own. A bag of words adds these "
                        "vectors up, so how often a word comes stays and the order is lost; "
                        "presence keeps only whether it comes.",
                        "one-hot हर शब्द को उसका अपना स्थान देता है। शब्दों का थैला इन सदिशों को जोड़ "
                        "देता है: कोई शब्द कितनी बार आया, यह बचता है पर क्रम खो जाता है; उपस्थिति में "
                        "केवल यह रहता है कि शब्द आया या नहीं।",
                    )
                ),
                *hot,
                table(say("counts", "गिनती"), self.counts, rows, known),
                table(say("presence", "उपस्थिति"), self.presence, rows, known),
                Words(
                    say(
                        "TF-IDF multiplies each count by the word's rarity, "
                        f"ln((1 + {n}) / (1 + texts with it)) + 1, and makes every row of length "
                        "one: words that few texts have count for more.",
                        "TF-IDF हर गिनती को शब्द की विरलता से गुणा करता है, "
                        f"ln((1 + {n}) / (1 + उस शब्द वाले पाठ)) + 1, और हर पंक्ति की लंबाई एक कर "
                        "देता है: जो शब्द कम पाठों में हैं, उनका महत्त्व अधिक होता है।",
                    )
                ),
                table(say("rarity", "विरलता"), self.rarity, (), known, digits=3),
                table("TF-IDF", self.tf_idf, rows, known, kind="weights", digits=3),
            ),
        )


def counts(
    sentence: str | Sequence[str] = TEXTS, *, vocabulary: str | Sequence[str] = ()
) -> Counts:
    """Texts, parted by a stroke, over their own words or those of a vocabulary that is given.

    >>> counts("mat cat mat / cat rat rat").counts.tolist()
    [[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]
    """
    given = sentence.split("/") if isinstance(sentence, str) else sentence
    texts = tuple(tuple(counting.words_in(one)) for one in given)
    if not texts:
        raise UserError("there is no text: give at least one")
    for number, text in enumerate(texts, 1):
        if not text:
            raise UserError(f"text {number} has no words: give it at least one")
    wanted = vocabulary.split() if isinstance(vocabulary, str) else vocabulary
    known = tuple(wanted) or counting.vocabulary(texts)
    for word in known:
        if known.count(word) > 1:
            raise UserError(f"the vocabulary has {word!r} twice: write it once")
    found = counting.word_counts(texts, known)
    return Counts(
        texts,
        known,
        tuple(counting.one_hot(text, known) for text in texts),
        found,
        counting.presence(found),
        counting.rarity(found),
        counting.tf_idf(found),
    )
