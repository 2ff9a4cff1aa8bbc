"""From pairs of sentences to vocabularies, and to ids."""

from dhyan.config import Recipe
from dhyan.data.corpus import Pair, Tally
from dhyan.data.examples import Examples, encode_pairs
from dhyan.decoding.translator import Translator
from dhyan.faults import Fault
from dhyan.run.gather import Say
from dhyan.text.tokenizer import Tokenizer


def learn_tokenizers(recipe: Recipe, pairs: list[Pair], say: Say) -> tuple[Tokenizer, Tokenizer]:
    """The two vocabularies, learned from the training pairs."""
    text = recipe.text
    sides = {"source": (p.source for p in pairs), "target": (p.target for p in pairs)}
    sizes = {"source": text.source_size, "target": text.target_size}
    learned = {}
    for side, sentences in sides.items():
        try:
            learned[side] = Tokenizer.learn(sentences, kind=text.kind, size=sizes[side])
        except Fault as fault:
            raise Fault(f"text.{side}_size: {fault}") from None
    source, target = learned["source"], learned["target"]
    say(f"vocabularies ({text.kind}): {len(source):,} source, {len(target):,} target")
    return source, target


def encode(pairs: list[Pair], translator: Translator, longest: int, say: Say) -> Examples:
    """Pairs as ids; the over-long ones are left out and said."""
    tally = Tally()
    try:
        examples = encode_pairs(
            pairs, translator.source, translator.target, longest=longest, tally=tally
        )
    except Fault:
        raise Fault(f"data.longest: no pair has {longest} tokens or fewer; raise it") from None
    for reason, noted in tally.drops.items():
        say(f"left out {noted.count:,} pairs: {reason}")
    return examples
