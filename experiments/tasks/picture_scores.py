"""`python -m experiments.tasks.picture_scores ocr|caption|draw RUN…`: scores of the picture tasks.

`ocr` reads the test folders of `ocr-data` in `--data`: character error rates in fonts held out, beside
those of Tesseract's newest result file on the same lines, and the attention to the boxes of letters.
`caption` describes scenes, also with colours of shapes that training lacks: exact match, and the
attention to the box of each object while its colour and shape are written. `draw` writes the cells
of such scenes: exact match and the share of right attributes. Attention is read by forced decoding
of the right output. One result file for all runs.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

import dhyan
from benchmarks.report import RESULTS, newest, write_device_result
from dhyan.data.read_pairs import read_pairs
from dhyan.data.scene_cells import (
    COLOUR_WORDS,
    SHAPE_WORDS,
    attribute_accuracy,
    scene_cell_pairs,
)
from dhyan.data.scenes import Scene, SceneObject, generate_scenes
from dhyan.data.write_pictures import BOXES
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.translator import Translator
from dhyan.evaluation.metrics import count, scores_of
from dhyan.insight.word_alignment import word_indices
from dhyan.special_tokens import BOS, EOS
from dhyan.text.codec import FrameCodec
from dhyan.text.grapheme_clusters import grapheme_clusters
from dhyan.text.image_frames import Box, data_uri
from dhyan.text.normalize import normalize
from experiments.side_by_side import training_of
from experiments.tasks.ocr_baseline import kinds_in, rates_of_kinds
from experiments.tasks.picture_data import KINDS, TEST_SEED

SIDE = 64  # of a drawn scene, in pixels


@dataclass(frozen=True)
class BoxWeights:
    """The attention of one output whose part of the picture is known.

    `mass` is its weight on the frames that the box touches, `strongest` says whether the largest
    weight is on one of them. `frames` is their share of all frames, which is the mass of uniform
    attention, `area` the share of the picture that the box covers.
    """

    mass: float
    strongest: bool
    frames: float
    area: float


def overlap(first: Box, second: Box) -> float:
    """The area that two boxes share."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(width, 0.0) * max(height, 0.0)


def box_weights(weights: Float[Tensor, " S"], frames: Sequence[Box], box: Box) -> BoxWeights:
    """The attention to the frames of a picture against one box in it."""
    touched = [overlap(frame, box) > 0 for frame in frames]
    chosen = torch.tensor(touched)
    picture = sum(overlap(frame, frame) for frame in frames)
    return BoxWeights(
        mass=float(weights[chosen].sum()),
        strongest=touched[int(weights.argmax())],
        frames=sum(touched) / len(touched),
        area=sum(overlap(frame, box) for frame in frames) / picture,
    )


def summary(outputs: Sequence[BoxWeights]) -> dict[str, float]:
    """The means over all outputs, in per cent."""

    def mean(values: Sequence[float]) -> float:
        return round(100 * sum(values) / max(1, len(values)), 2)

    return {
        "outputs": len(outputs),
        "mass_on_box": mean([one.mass for one in outputs]),
        "strongest_on_box": mean([one.strongest for one in outputs]),
        "mass_of_uniform_attention": mean([one.frames for one in outputs]),
        "area_of_box": mean([one.area for one in outputs]),
    }


def character_boxes(text: str, boxes: Sequence[tuple[str, Box]]) -> list[Box | None]:
    """The box of the cluster that each character of a normalised text belongs to; none of a space.

    Empty if the clusters are not those of the boxes.
    """
    remaining = list(boxes)
    result: list[Box | None] = []
    for cluster in grapheme_clusters(text):
        if cluster.isspace():
            result += [None] * len(cluster)
        elif remaining and normalize(remaining[0][0]) == cluster:
            result += [remaining.pop(0)[1]] * len(cluster)
        else:
            return []
    return [] if remaining else result


def named_objects(scene: Scene, caption: str) -> list[SceneObject | None]:
    """The object that each word of a caption names by its colour or shape; none of other words."""
    order = [
        scene_object
        for first, _, second in scene.statements()
        for scene_object in (first, first, second, second)  # colour and shape of each
    ]
    is_name = [word in COLOUR_WORDS or word in SHAPE_WORDS for word in caption.split()]
    names = iter(order)
    return [next(names) if named else None for named in is_name]


def token_weights(
    translator: Translator, source: str, target: str
) -> tuple[list[int], Float[Tensor, "T S"]]:
    """The ids of an output, and for each the attention to the frames of a source."""
    ids = translator.target.encode(target)
    decoded = force_decode(
        translator.ensemble,
        [translator.encode(source)],
        [[BOS, *ids, EOS]],
        translator.device,
    )
    return ids, decoded.source_attention()[0, : len(ids)].float().cpu()


def frame_boxes(translator: Translator, source: str) -> list[Box]:
    """The part of the picture that each frame of a source shows."""
    assert isinstance(translator.source, FrameCodec)
    boxes = translator.source.boxes(source)
    assert boxes
    return boxes


def line_attention(
    translator: Translator, picture: str, text: str, boxes: Sequence[tuple[str, Box]]
) -> list[BoxWeights]:
    """The attention of every character of a line to the box of its cluster."""
    text = translator.target.normalize(text)
    owners = character_boxes(text, boxes)
    if not owners:
        return []
    _, weights = token_weights(translator, picture, text)
    frames = frame_boxes(translator, picture)
    results = []
    for row, (_, stop) in zip(weights, translator.target.offsets(text), strict=True):
        box = owners[stop - 1] if stop else None  # the first token may be a space that is not there
        if box:
            results.append(box_weights(row, frames, box))
    return results


def scene_attention(translator: Translator, scene: Scene, caption: str) -> list[BoxWeights]:
    """The attention of every word that names a colour or a shape to the box of its object."""
    picture = data_uri(scene.draw(SIDE))
    ids, weights = token_weights(translator, picture, caption)
    frames = frame_boxes(translator, picture)
    objects = named_objects(scene, caption)
    words = word_indices(translator.target, ids, caption)
    results = []
    for row, word in zip(weights, words, strict=True):
        scene_object = objects[word]
        if scene_object:
            results.append(box_weights(row, frames, scene_object.box(SIDE)))
    return results


def score_ocr(translator: Translator, given: argparse.Namespace) -> dict[str, Any]:
    """Error rates and attention on the lines of every kind, and on all."""
    outputs, texts = dict[str, list[str]](), dict[str, list[str]]()
    attention, without_boxes = dict[str, list[BoxWeights]](), 0
    for kind in kinds_in(given.data):
        folder = given.data / f"test-{kind}"
        pairs = list(read_pairs(folder))
        outputs[kind] = predict(translator, [pair.source for pair in pairs])
        texts[kind] = [pair.target for pair in pairs]
        boxes = read_boxes(folder)
        lines = [
            line_attention(translator, pair.source, pair.target, boxes[Path(pair.source).name])
            for pair in pairs
        ]
        without_boxes += lines.count([])
        attention[kind] = [one for line in lines for one in line]
    rates = rates_of_kinds(outputs, texts)
    attention["all"] = [one for kind in KINDS for one in attention[kind]]
    return {
        "rates": rates,
        "tesseract": tesseract_rates(rates, given.baselines),
        "attention": {kind: summary(own) for kind, own in attention.items()},
        "lines_without_boxes": without_boxes,
    }


def tesseract_rates(rates: dict[str, dict[str, float]], results: Path) -> dict[str, Any]:
    """The rates of Tesseract's newest result file, of the kinds with as many lines and characters."""
    path = newest("ocr-baseline", results)
    theirs = json.loads(path.read_text(encoding="utf-8"))["figures"]["rates"]
    same = {
        kind: own
        for kind, own in theirs.items()
        if all(own[key] == rates[kind][key] for key in ("lines", "characters"))
    }
    return {"file": path.name, "rates": same}


def read_boxes(folder: Path) -> dict[str, list[tuple[str, Box]]]:
    """The boxes of each picture of a folder, by its file name."""
    lines = (folder / BOXES).read_text(encoding="utf-8").splitlines()
    records = map(json.loads, lines)
    return {
        record["image"]: [(text, (left, top, right, bottom)) for text, left, top, right, bottom in
                          record["boxes"]]
        for record in records
    }  # fmt: skip


def score_caption(translator: Translator, given: argparse.Namespace) -> dict[str, Any]:
    """Exact match and attention on scenes like those of training, and on unseen combinations."""
    language = translator.language or "en"
    figures: dict[str, Any] = {"language": language}
    for name, held_out in (("test", False), ("held-out", True)):
        scenes = list(islice(generate_scenes(seed=TEST_SEED, held_out=held_out), given.count))
        captions = [scene.caption(language) for scene in scenes]
        outputs = predict(translator, [data_uri(scene.draw(SIDE)) for scene in scenes])
        attention = [
            one
            for scene, caption in zip(scenes, captions, strict=True)
            for one in scene_attention(translator, scene, caption)
        ]
        figures[name] = {**exact(outputs, captions), "attention": summary(attention)}
    return figures


def score_draw(translator: Translator, given: argparse.Namespace) -> dict[str, Any]:
    """Exact match and right attributes on captions like those of training, and on unseen ones."""
    language = translator.source_language or "en"
    figures: dict[str, Any] = {"language": language}
    for name, held_out in (("test", False), ("held-out", True)):
        drawn = scene_cell_pairs(seed=TEST_SEED, language=language, held_out=held_out)
        pairs = list(islice(drawn, given.count))
        outputs = predict(translator, [pair.source for pair in pairs])
        right = [
            attribute_accuracy(output.split(), pair.source)
            for output, pair in zip(outputs, pairs, strict=True)
        ]
        figures[name] = {
            **exact(outputs, [pair.target for pair in pairs]),
            "attributes": round(100 * sum(right) / len(right), 2),
        }
    return figures


def exact(outputs: Sequence[str], targets: Sequence[str]) -> dict[str, float]:
    """The share of outputs that are right as a whole."""
    scores = scores_of(count(outputs, targets, metrics=("exact",)))
    return {"examples": len(targets), "exact": round(scores["exact"].value, 2)}


def predict(translator: Translator, sources: Sequence[str]) -> list[str]:
    """The best output for each source."""
    return [output.text for output in translator.translate(list(sources))]


SCORES: dict[str, Callable[[Translator, argparse.Namespace], dict[str, Any]]] = {
    "ocr": score_ocr,
    "caption": score_caption,
    "draw": score_draw,
}


def score_run(run: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one run, with its size and its training time."""
    translator = dhyan.load(run)
    return {
        **training_of(run),
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        **SCORES[given.step](translator, given),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Score the runs and write a result file."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.tasks.picture_scores", description=__doc__
    )
    parser.add_argument("step", choices=list(SCORES))
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--data", type=Path, default=Path("build/ocr"), help="of ocr-data")
    parser.add_argument("--count", type=int, default=500, help="scenes of a test set")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result file")
    parser.add_argument("--baselines", type=Path, default=RESULTS, help="result files: Tesseract's")
    given = parser.parse_args(arguments)
    figures = [score_run(run, given) for run in given.runs]
    print(json.dumps(figures, ensure_ascii=False, indent=1))
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    print(
        write_device_result(
            f"picture-{given.step}", figures, accelerator=accelerator, folder=given.results
        )
    )


if __name__ == "__main__":
    main()
