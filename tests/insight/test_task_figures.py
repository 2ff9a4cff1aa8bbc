"""Figures of tasks: what a trace holds is what the terminal and the figure show, Hindi included."""

import struct
from math import log

import pytest
import torch

from dhyan.attention_maps import AttentionMap
from dhyan.errors import UserError
from dhyan.insight.cell_grid import colour_of, grid_side
from dhyan.insight.entity_spans import EntitySpan, entity_spans, label_colours
from dhyan.insight.heatmap import draw_bytes
from dhyan.insight.image_overlay import resample
from dhyan.insight.shaded_words import labelled_words
from dhyan.insight.task_figures import FIGURES, find_figure
from dhyan.insight.trace import Side, Step, Token, Trace, TracedAttention
from dhyan.insight.traced_media import TracedPicture, TracedSound, source_name, traced_picture
from dhyan.special_tokens import EOS
from dhyan.tasks import find_task, task_names
from dhyan.text.image_frames import ImageColumns, ImagePatches, data_uri, read_picture
from tests.picture_models import picture

SENTENCE = ("नई", "दिल्ली", "में", "सीता", "है")
TAGS = ("B-LOC", "I-LOC", "O", "B-PER", "O")
CELLS = ("red", "blank", "blue", "c017")


def side(words, end=True):
    tokens = [Token(word, 10 + at, at, False) for at, word in enumerate(words)]
    tokens += [Token("</s>", EOS, len(words), True)] * end
    return Side(tuple(tokens), (*words, "</s>") if end else tuple(words))


def make_trace(source, output, *, end=True, attends=True, **more):
    """A trace of these words, with random weights."""
    source, target = side(source, end), side(output)
    rows, columns = len(target.tokens), len(source.tokens)
    weights = torch.randn(2, rows, columns, generator=torch.Generator().manual_seed(1)).softmax(-1)
    attention = (TracedAttention("decoder", "cross", 1, weights),) if attends else ()
    steps = [
        Step(log(0.75), ((token.text, 0.75), ("</s>", 0.1), ("दूसरा", 0.05)))
        for token in target.tokens
    ]
    text = " ".join(word for word in source.words if word != "</s>")
    return Trace(
        "model", text, " ".join(output), True, source, target, target, tuple(steps), attention,
        -1.0, **more,
    )  # fmt: skip


def pictured(codec, output):
    uri = data_uri(picture(64, 32))
    frames = [str(at) for at in range(len(codec.boxes(uri)))]
    return make_trace(
        frames, output, end=False, figure="image_overlay", picture=traced_picture(codec, uri)
    )


SOUND = TracedSound("data:audio/wav;base64,UklGRg==", 0.5, 0.016, ((-0.5, 0.5), (-1.0, 0.25)))
TRACES = {
    "shaded_words": [
        make_trace(SENTENCE, ("सकारात्मक",)), make_trace(SENTENCE, ("x",), attends=False),
    ],
    "entity_spans": [
        make_trace(SENTENCE, TAGS), make_trace(SENTENCE * 9, TAGS * 9), make_trace(("a",), ("O",)),
    ],
    "image_overlay": [
        pictured(ImageColumns(16, 4), ("लाल", "वृत्त")),
        pictured(ImagePatches(16, 16, 8), ("a", "वृत्त") * 4),
    ],
    "cell_grid": [
        make_trace(("a", "लाल", "a"), CELLS), make_trace(("a",), CELLS[:3], attends=False),
    ],
    "waveform": [
        make_trace(SENTENCE, ("c001",) * 40), make_trace(SENTENCE, ("c001",) * 40, sound=SOUND),
    ],
}  # fmt: skip
ALL = [(name, trace) for name, traces in TRACES.items() for trace in traces]


def words_of(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_every_task_has_a_figure_and_an_unknown_name_is_the_heat_map():
    assert {find_task(name).figure for name in task_names()} <= {*FIGURES, "heatmap"}
    assert TRACES.keys() == FIGURES.keys()
    assert find_figure("heatmap") is None
    assert find_figure("of-a-plugin") is None


@pytest.mark.parametrize(("name", "trace"), ALL)
def test_a_figure_is_the_same_bytes_each_time_and_not_too_large(name, trace):
    drawn = [draw_bytes(FIGURES[name].draw(trace), "png") for _ in range(2)]
    assert drawn[0] == drawn[1]
    width, height = struct.unpack(">II", drawn[0][16:24])
    assert 200 < width < 4000
    assert 50 < height < 4000


@pytest.mark.parametrize(("name", "trace"), ALL)
@pytest.mark.parametrize("width", [30, 80])
def test_colour_changes_nothing_but_the_colour_and_lines_fit(name, trace, width):
    draw = FIGURES[name].draw_in_terminal
    plain, painted = draw(trace, width, False), draw(trace, width, True)
    assert [line.rstrip() for line in plain.plain.split("\n")] == [
        line.rstrip() for line in painted.plain.split("\n")
    ]
    assert all(
        not span.style or span.style.color is None
        for span in plain.spans
        if not isinstance(span.style, str)
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shaded_words", ("सकारात्मक", "0.75", "दूसरा", *SENTENCE)),
        ("entity_spans", (*SENTENCE, "LOC", "PER")),
        ("image_overlay", ("लाल", "वृत्त")),
        ("cell_grid", ("लाल", "c017")),
        ("waveform", SENTENCE),
    ],
)
def test_hindi_and_labels_are_in_the_figure(name, words):
    shown = words_of(FIGURES[name].draw(TRACES[name][0]))
    assert [word for word in words if word not in shown] == []


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O O", []),
        ("B-LOC I-LOC O B-LOC", [("LOC", 0, 2), ("LOC", 3, 4)]),
        ("B-LOC B-LOC I-LOC", [("LOC", 0, 1), ("LOC", 1, 3)]),
        ("I-PER I-PER I-LOC", [("PER", 0, 2), ("LOC", 2, 3)]),
        ("NOUN VERB VERB", [("NOUN", 0, 1), ("VERB", 1, 2), ("VERB", 2, 3)]),
    ],
)
def test_tags_become_spans(tags, spans):
    assert entity_spans(tags.split()) == [EntitySpan(*span) for span in spans]


def test_labels_have_different_colours():
    colours = label_colours(["PER", "LOC", "ORG", "MISC", "PER"])
    assert len(set(colours.values())) == 4


def test_the_words_of_a_label_keep_their_weights_and_its_runner_up_is_no_special_token():
    own = labelled_words(TRACES["shaded_words"][0])
    weights = TRACES["shaded_words"][0].attention[0].weights.mean(0)[0]
    assert dict(own.runners) == {"दूसरा": 0.05}
    for word, weight in zip(own.words, own.weights, strict=True):
        at = TRACES["shaded_words"][0].source.words.index(word)
        assert weight == pytest.approx(float(weights[at]))


def test_a_symbol_is_a_colour_and_a_shape_or_itself():
    assert colour_of("red") == "#d62828"
    assert colour_of("blank") is None
    assert colour_of("c017") is None
    assert [grid_side(count) for count in (1, 2, 4, 5, 64)] == [1, 2, 2, 3, 8]


def test_a_shorter_row_keeps_the_largest_weights():
    row = torch.rand(1, 100)
    short = resample(row, 7)
    assert short.shape == (1, 7)
    assert short.max() == row.max()
    assert torch.equal(resample(row, 200), row)


def test_no_picture_and_no_attention_are_said():
    with pytest.raises(UserError, match="no picture"):
        FIGURES["image_overlay"].draw(make_trace(SENTENCE, ("a",)))
    with pytest.raises(UserError, match="attention"):
        FIGURES["waveform"].draw(make_trace(SENTENCE, ("a",), attends=False))


@pytest.mark.parametrize(("name", "trace"), ALL)
def test_json_holds_all_that_a_figure_needs(name, trace):
    again = Trace.from_json(trace.to_json())
    assert (again.figure, again.picture, again.sound) == (trace.figure, trace.picture, trace.sound)
    assert draw_bytes(FIGURES[name].draw(again), "png") == draw_bytes(
        FIGURES[name].draw(trace), "png"
    )


def test_a_large_picture_is_made_smaller_with_its_boxes():
    codec, uri = ImageColumns(16, 4), data_uri(picture(3000, 600))
    small = traced_picture(codec, uri)
    assert isinstance(small, TracedPicture)
    assert small.width * small.height <= 2**19
    assert small.width / small.height == pytest.approx(5, rel=0.01)
    assert read_picture(small.uri).size == (small.width, small.height)
    assert small.boxes[-1][2] == pytest.approx(small.width, abs=0.1)
    assert len(small.boxes) == len(codec.boxes(uri))


def test_a_picture_has_a_short_name_and_a_sentence_its_own():
    uri = data_uri(picture())
    assert source_name("a sentence") == "a sentence"
    assert source_name(uri) == source_name(uri) != source_name(data_uri(picture(10, 10)))
    assert len(source_name(uri)) < 30


def test_the_mean_of_the_heads_is_drawn():
    trace = TRACES["shaded_words"][0]
    attention = trace.cross_weights()
    assert isinstance(attention, AttentionMap)
    assert torch.allclose(attention.weights[0], trace.attention[0].weights.mean(0))
