"""What becomes of a Transformer's walk when one of its parts is taken out."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.shown import Say
from dhyan.lessons.transformer.written_out import WITHOUT, Walk, Written

NOTHING = 1e-9


@dataclass(frozen=True)
class Measured:
    """A row for the whole walk and one without each part; fresh weights, all the same.

    `order` is the largest |Δ| of a word's state in the encoder when the words come backwards;
    `alike` the mean cosine of the states of two different places; `longest` the length of the
    longest vector after any sub-layer; `moved` the largest |Δ| of a word's chance to the whole's.
    """

    order: Float64[Tensor, " P"]
    alike: Float64[Tensor, " P"]
    longest: Float64[Tensor, " P"]
    moved: Float64[Tensor, " P"]
    same_backwards: bool

    def parts(self, say: Say, without: str) -> tuple[Words, Table, Words]:
        """All measures of all walks, and a sentence on the one that was asked for."""
        rows = [say("whole", "पूरा"), *(without_a(one, say) for one in WITHOUT)]
        columns = [
            say("order", "क्रम"),
            say("alike", "समानता"),
            say("longest", "सबसे लंबा"),
            say("chances", "प्रायिकता"),
        ]
        values = torch.stack([self.order, self.alike, self.longest, self.moved], dim=1)
        chosen = [without] if without else WITHOUT
        return (
            Words(
                say(
                    "What changes without a part? order: how far a word's state moves (largest Δ) "
                    "when the input's words come backwards; alike: mean cosine of two words' "
                    "states; longest: length of the longest vector; chances: the largest Δ of a "
                    "word's chance.",
                    "कोई भाग न हो तो क्या बदलता है? क्रम: इनपुट के शब्द उलटे क्रम में आएँ तो शब्द की अवस्था "
                    "कितनी बदलती है (सबसे बड़ा Δ); समानता: दो शब्दों की अवस्थाओं की कोज्या का माध्य; सबसे "
                    "लंबा: सबसे लंबे सदिश की लंबाई; प्रायिकता: किसी शब्द की प्रायिकता का सबसे बड़ा Δ।",
                )
            ),
            table(say("measures", "माप"), values, rows, columns),
            Words(" ".join(self._told(one, say) for one in chosen)),
        )

    def _told(self, without: str, say: Say) -> str:
        at = 1 + WITHOUT.index(without)
        match without:
            case "positions":
                return self._ordered(float(self.order[at]), say)
            case "residuals":
                was, now = float(self.alike[0]), float(self.alike[at])
                return say(
                    f"Without residuals two words are alike by {now:.2f}, with them by {was:.2f}: "
                    + ("words run together." if now > was else "here words do not run together."),
                    f"अवशिष्ट योग के बिना दो शब्दों की समानता {now:.2f} है, उसके साथ {was:.2f}: "
                    + ("शब्द एक-से हो जाते हैं।" if now > was else "यहाँ शब्द एक-से नहीं होते।"),
                )
            case "normalisation":
                was, now = float(self.longest[0]), float(self.longest[at])
                return say(
                    f"Without normalisation the longest vector is {now:.1f} long, with it "
                    f"{was:.1f}.",
                    f"सामान्यीकरण के बिना सबसे लंबे सदिश की लंबाई {now:.1f} है, उसके साथ {was:.1f}।",
                )
            case _:
                gone = float(self.moved[at])
                return say(
                    "Without the feed-forward no word is worked on by itself after a look; a "
                    f"chance moves by up to {gone:.2f}.",
                    "फ़ीड-फ़ॉरवर्ड के बिना देखने के बाद किसी शब्द पर अलग से काम नहीं होता; किसी प्रायिकता में "
                    f"{gone:.2f} तक का अंतर आता है।",
                )

    def _ordered(self, now: float, say: Say) -> str:
        if self.same_backwards:
            return say(
                "The sentence reads the same backwards, so positions cannot be missed.",
                "वाक्य उलटा भी वही है, इसलिए स्थानों की कमी यहाँ नहीं दिख सकती।",
            )
        if now < NOTHING:
            return say(
                "Without positions the encoder's states change places with the words and stay as "
                "they are.",
                "स्थानों के बिना एनकोडर की अवस्थाएँ शब्दों के साथ जगह बदलती हैं, पर स्वयं वैसी ही रहती हैं।",
            )
        return say(
            f"Without positions the states still change by {now:.2f}.",
            f"स्थानों के बिना भी अवस्थाएँ {now:.2f} बदलती हैं।",
        )


def measured(full: Written, source: Int64[Tensor, " S"], said: Int64[Tensor, " T"]) -> Measured:
    """The whole walk and one without each part; the source's end stays at the end."""
    backwards = torch.tensor([*reversed(range(len(source) - 1)), len(source) - 1])
    whole = full.walk(source, said)
    found = []
    for without in ("", *WITHOUT):
        written = replace(full, without=without)
        walk = written.walk(source, said)
        turned = written.encoded(source[backwards]).states
        order = (turned - walk.encoder.states[backwards]).abs().max()
        moved = (walk.chances - whole.chances).abs().max()
        found.append(torch.stack([order, _alike(walk.encoder.states), _longest(walk), moved]))
    order, alike, longest, moved = torch.stack(found).unbind(1)
    return Measured(
        order, alike, longest, moved, same_backwards=torch.equal(source, source[backwards])
    )


def _alike(states: Float64[Tensor, "T D"]) -> Float64[Tensor, ""]:
    """The mean cosine of two different rows."""
    ways = states / states.norm(dim=1, keepdim=True)
    count = len(ways)
    return ((ways @ ways.T).sum() - count) / (count * (count - 1))


def _longest(walk: Walk) -> Float64[Tensor, ""]:
    steps = (*walk.encoder.steps, *walk.decoder.steps)
    return torch.stack([one.after.norm(dim=1).max() for one in steps]).max()


def without_a(without: str, say: Say) -> str:
    """The name of a walk that a part is taken out of."""
    names = {
        "positions": say("without positions", "स्थानों के बिना"),
        "residuals": say("without residuals", "अवशिष्ट योग के बिना"),
        "normalisation": say("without normalisation", "सामान्यीकरण के बिना"),
        "feed_forward": say("without feed-forward", "फ़ीड-फ़ॉरवर्ड के बिना"),
    }
    return names[without]
