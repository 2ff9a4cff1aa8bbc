"""How many parameters each part of a Transformer has, by formula and in a model that is built."""

from dataclasses import dataclass

from torch import nn

from dhyan.lessons.catalogue import Text

PARTS = ("embedding", "attention", "feed_forward", "normalisation", "output")


@dataclass(frozen=True)
class Sizes:
    """What a Transformer's parameters follow from; `shared`, both sides have one table of words.

    Its output reads the words off the decoder's table, so only its biases are its own.
    """

    source: int
    target: int
    width: int
    hidden: int
    layers: int
    pre_norm: bool = False
    shared: bool = False


# One vocabulary of about 37,000 for both languages, as in the paper (Vaswani et al., 2017).
BASE = Sizes(37_000, 37_000, width=512, hidden=2048, layers=6, shared=True)


def parameters(of: Sizes) -> dict[str, int]:
    """The formula: a layer of the encoder has one attention, one of the decoder two.

    >>> sum(parameters(BASE).values())
    63119496
    """
    width, hidden, layers = of.width, of.hidden, of.layers
    words = of.target if of.shared else of.source + of.target
    norms = 5 * layers + (2 if of.pre_norm else 0)  # one for each sub-layer, pre-norm's at the ends
    return {
        "embedding": words * width,
        "attention": 3 * layers * 4 * (width**2 + width),
        "feed_forward": 2 * layers * (2 * width * hidden + hidden + width),
        "normalisation": norms * 2 * width,
        "output": of.target,
    }


def counted(model: nn.Module) -> dict[str, int]:
    """The parameters of a built Transformer by part; what two parts share is counted once."""
    found = dict.fromkeys(PARTS, 0)
    for name, one in model.named_parameters():
        found[_part(name)] += one.numel()
    return found


def names_of(text: Text) -> dict[str, str]:
    """What the parts are called."""
    return {
        "embedding": text("transformer.embedding"),
        "attention": text("transformer.attention"),
        "feed_forward": text("transformer.feed_forward"),
        "normalisation": text("transformer.normalisation"),
        "output": text("transformer.output"),
    }


def _part(name: str) -> str:
    """Which part a parameter belongs to, by the names of the modules it lies in."""
    rooms = name.split(".")
    for part, room in (
        ("embedding", "embedding"),
        ("attention", "self_attention"),
        ("attention", "cross_attention"),
        ("feed_forward", "feed_forward"),
    ):
        if room in rooms:
            return part
    return "normalisation" if "norm" in name else "output"
