"""Beam tree: a recorded beam search with words, attention, and greedy search beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from dhyan.config import DecodingOptions
from dhyan.decoding.beam_record import BeamRecord, Fate, record_beam_search
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.rules import Rule
from dhyan.decoding.translator import Translator
from dhyan.insight.explain import Labels
from dhyan.special_tokens import BOS, EOS, NAMES


@dataclass(frozen=True)
class TreeNode:
    """A node of the record with the text of its token, and of the hypothesis up to it.

    `attention` are the weights over the source words of the step that follows it, the mean of all
    heads and layers; none if nothing follows, or the model has no attention.
    """

    step: int
    parent: int
    token: str
    special: bool
    text: str
    logprob: float
    score: float
    score_by_length: float
    rank: int
    fate: Fate
    attention: tuple[float, ...]


@dataclass(frozen=True)
class BeamTree:
    """The tree of a beam search; `results` are the nodes of its translations, best first.

    `greedy` are the tokens of greedy search, EOS included if it is finished, `greedy_text` their
    text, and `greedy_score` its sum of log-probabilities / length ** length_penalty.
    `greedy_path` are its nodes, as far as the tree has them.
    """

    beam: int
    length_penalty: float
    source: tuple[str, ...]
    nodes: tuple[TreeNode, ...]
    results: tuple[int, ...]
    greedy: tuple[str, ...]
    greedy_text: str
    greedy_score: float
    greedy_path: tuple[int, ...]


def beam_tree(
    translator: Translator,
    text: str,
    options: DecodingOptions,
    *,
    prefix: str = "",
    rules: Sequence[Rule] = (),
) -> BeamTree:
    """Translate a sentence by beam search, and return everything that the search considered."""
    record = record_beam_search(translator, text, options, prefix=prefix, rules=rules)
    [greedy] = translator.translate_sentences(
        [text], options.changed(beam=1, nbest=1), prefixes=prefix or None, rules=rules
    )
    greedy_ids = (*greedy.ids, *([EOS] if greedy.finished else []))
    masked, placeholders = translator.with_placeholders(text)
    source = Labels.of(
        translator.source, record.source, words=True, text=masked, placeholders=placeholders
    )
    attention = _attention(translator, record, source)
    target = translator.target
    pieces = target.pieces([node.token for node in record.nodes])
    nodes = tuple(
        TreeNode(
            node.step,
            node.parent,
            piece,
            node.token < len(NAMES),
            target.decode(record.ids(index)),
            node.logprob,
            node.score,
            node.score_by_length,
            node.rank,
            node.fate,
            attention.get(index, ()),
        )
        for index, (node, piece) in enumerate(zip(record.nodes, pieces, strict=True))
    )
    return BeamTree(
        record.beam,
        record.length_penalty,
        source.texts,
        nodes,
        record.results,
        tuple(target.pieces(greedy_ids)),
        greedy.text,
        greedy.score,
        _path(record, greedy_ids),
    )


def _attention(
    translator: Translator, record: BeamRecord, source: Labels
) -> dict[int, tuple[float, ...]]:
    """For each node that was extended, the attention of the step after it, by source word.

    One pass over the longest recorded hypotheses gives those of all: a step attends before its
    token is known.
    """
    if not any(layer.role == "cross" for layer in translator.ensemble.attentions()):
        return {}
    extended = {node.parent for node in record.nodes} - {-1}
    inner = {record.nodes[node].parent for node in extended}
    leaves = sorted(extended - inner)
    targets = [(BOS, *record.ids(leaf), EOS) for leaf in leaves]
    forced = force_decode(
        translator.ensemble, [record.source] * len(leaves), targets, translator.device
    )
    weights = source.gather(forced.source_attention().float().cpu(), -1)
    rows: dict[int, tuple[float, ...]] = {}
    for leaf, steps in zip(leaves, weights, strict=True):
        for step, node in enumerate((0, *record.path(leaf))):
            rows[node] = tuple(round(weight, 5) for weight in steps[step].tolist())
    return rows


def _path(record: BeamRecord, ids: Sequence[int]) -> tuple[int, ...]:
    """The nodes of these tokens, as far as the record has them."""
    children = {(node.parent, node.token): index for index, node in enumerate(record.nodes)}
    path: list[int] = []
    for token in ids:
        node = children.get((path[-1] if path else 0, token))
        if node is None:
            break
        path.append(node)
    return tuple(path)
