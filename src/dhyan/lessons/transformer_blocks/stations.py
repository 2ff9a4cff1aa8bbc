"""The stations of a sentence's way through a Transformer, told and drawn one after another."""

from collections.abc import Sequence

from torch import Tensor

from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.transformer_blocks.written_out import Side, Step, Walk

MOST_COLUMNS, MOST_HEADS = 8, 2  # that are drawn


def read_by_encoder(
    side: Side, words: Sequence[str], text: Text, *, pre_norm: bool, without: str = ""
) -> list[Part]:
    """Words and places, the heads' weights, and the vectors after each sub-layer."""
    names, width = _numbered(words), side.entered.shape[1]
    looked, thought = side.step("self_attention"), side.step("feed_forward")
    assert looked is not None
    return [
        Words(f"{_embedding(width, text)} {_positions(without, text)}"),
        _rows(text("transformer.words", width=width), side.embedded, names, after="+"),
        _rows(text("transformer.places"), side.positions, names),
        Words(text("transformer.self_attention_word_mixes")),
        _rows(text("transformer.x_words_places"), side.entered, names),
        *_weights(looked, text),
        Words(f"{_road(without, text, pre_norm=pre_norm)} {_thinking(thought, text)}"),
        *_after(looked, thought, names, text),
    ]


def said_by_decoder(
    walk: Walk, words: Sequence[str], vocabulary: Sequence[str], text: Text
) -> list[Part]:
    """What has been said, both kinds of weights, the last vectors, and the next word."""
    side, names = walk.decoder, _numbered(words)
    recalled, looked = side.step("self_attention"), side.step("cross_attention")
    assert recalled is not None
    assert looked is not None
    return [
        Words(text("transformer.decoder_begins_alike_been")),
        _rows(text("transformer.y_words_places"), side.entered, names),
        *_weights(recalled, text),
        Words(text("transformer.cross_attention_output_asks")),
        _rows(text("transformer.after_self_attention"), recalled.after, names),
        *_weights(looked, text),
        Words(text("transformer.output_last_vector_place")),
        _rows(text("transformer.last_vectors"), side.states, names, after="→"),
        table(
            text("transformer.next_word"), walk.chances, names, tuple(vocabulary), kind="weights"
        ),
    ]


def left_undrawn(width: int, heads: int, layers: int, text: Text) -> str:
    """What of a large one is not drawn."""
    told = []
    if width > MOST_COLUMNS:
        told.append(text("transformer.vector_first_numbers_drawn", most_columns=MOST_COLUMNS))
    if heads > MOST_HEADS:
        told.append(text("transformer.heads_first_drawn", most_heads=MOST_HEADS))
    if layers > 1:
        told.append(text("transformer.stations_first_layer"))
    return " ".join(told)


def _embedding(width: int, text: Text) -> str:
    return text("transformer.embedding_word_row_table", width=width)


def _positions(without: str, text: Text) -> str:
    if without == "positions":
        return text("transformer.positions_none_added_nothing")
    return text("transformer.positions_vector_place_added")


def _road(without: str, text: Text, *, pre_norm: bool) -> str:
    """What is done with what a sub-layer finds, and where the size of vectors is set right."""
    added = text("transformer.residual_found_added_vector")
    if without == "residuals":
        added = text("transformer.without_residual_found_takes")
    if without == "normalisation":
        return added
    first = text("transformer.part_reads"), text("transformer.result")
    return f"{added} " + text("transformer.normalisation_brought_size", order=first[not pre_norm])


def _thinking(thought: Step | None, text: Text) -> str:
    if thought is None or thought.hidden is None:
        return text("transformer.feed_forward_2")
    width, hidden = thought.read.shape[1], thought.hidden.shape[1]
    return text("transformer.feed_forward_word_worked", width=width, hidden=hidden)


def _after(looked: Step, thought: Step | None, names: Sequence[str], text: Text) -> list[Table]:
    """The vectors after either sub-layer, if there are two."""
    first = text("transformer.after_attention")
    if thought is None:
        return [_rows(first, looked.after, names)]
    second = text("transformer.after_feed_forward")
    return [_rows(first, looked.after, names, after="→"), _rows(second, thought.after, names)]


def _rows(title: str, x: Tensor, names: Sequence[str], *, after: str = "") -> Table:
    """The first numbers of every vector, none of them −0."""
    shown = x[:, :MOST_COLUMNS].round(decimals=1) + 0.0
    return table(title, shown, names, digits=1, after=after)


def _weights(step: Step, text: Text) -> list[Table]:
    """The weights of the first heads; rows and columns are numbered as the words are."""
    assert step.look is not None
    rows, columns = (
        [str(place) for place in range(1, count + 1)] for count in step.look.weights.shape[1:]
    )
    return [
        table(text("transformer.head", number=number), one, rows, columns, kind="weights")
        for number, one in enumerate(step.look.weights[:MOST_HEADS], 1)
    ]


def _numbered(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{place} {word}" for place, word in enumerate(words, 1))
