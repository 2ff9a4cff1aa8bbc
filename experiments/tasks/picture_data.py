"""Folders of rendered lines (OCR) and of scenes (captions, grids of cells)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import numpy as np

from dhyan.data.pairs import Pair
from dhyan.data.primer import generate_sentences
from dhyan.data.rendered_text import DIGITS, RenderedText, hindi_lines, rendered_lines
from dhyan.data.scene_cells import scene_cell_pairs
from dhyan.data.scenes import Scene, generate_scenes
from dhyan.data.write_pictures import Example, write_pictures
from dhyan.text.image_frames import COLOURS, data_uri
from experiments.tasks.fonts import FOLDER, HELD_OUT, TRAINING, VALIDATION, find_fonts

VALID_SEED, TEST_SEED = 2, 3
PART, FIRST_PART = 500, 1000  # training lines that are drawn at once; the seed of the first of them
KINDS = ("sentences", "words", "digits")
CORPUS, CORPUS_WORDS = "corpus", 10  # lines of a corpus that is no part of the project
GREYS = 16  # of a small picture: 4 bits a pixel
GREY_STEP = 255 // (GREYS - 1)


def write_ocr_data(
    out: Path,
    *,
    lines: int,
    test_lines: int,
    max_words: int,
    height: int = 0,
    fonts: Path = FOLDER,
    jobs: int = 1,
    pseudowords: float = 0.0,
    corpus: Path | None = None,
) -> None:
    """`train.tsv`, `valid`, and `test-sentences`, `-words`, `-digits`, each in fonts of its own.

    A line of the table is a picture as a data URI and its text. With a height, pictures of training
    have it and few grey values, so that they are small. In a share of `pseudowords` of the lines,
    words are invented. Training lines are drawn by so many processes, which changes nothing in
    them. Of a text file `corpus`, short lines are drawn as `test-corpus`.
    """
    texts = islice(hindi_lines(seed=1, max_words=max_words, pseudowords=pseudowords), lines)
    draw = partial(_draw_part, fonts=find_fonts(TRAINING, fonts), height=height)
    out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool:
        parts = pool.map(draw, count(), iter(lambda: list(islice(texts, PART)), []))
        _write_table(out / "train.tsv", chain.from_iterable(parts))
    texts = islice(
        hindi_lines(seed=VALID_SEED, split="valid", max_words=max_words, pseudowords=pseudowords),
        max(50, min(1000, lines // 50)),
    )
    write_lines(
        out / "valid",
        texts,
        find_fonts(VALIDATION, fonts),
        seed=VALID_SEED,
        height=height,
    )
    held_out = find_fonts(HELD_OUT, fonts)
    for kind in KINDS:
        texts = islice(texts_of_kind(kind), -(-test_lines // len(KINDS)))
        write_lines(out / f"test-{kind}", texts, held_out, seed=TEST_SEED)
    if corpus:
        texts = corpus_lines(corpus, test_lines)
        write_lines(out / f"test-{CORPUS}", texts, held_out, seed=TEST_SEED)


def corpus_lines(path: Path, number: int) -> list[str]:
    """Some lines of a text of up to ten words, all of Devanagari and common punctuation."""
    lines = path.read_text(encoding="utf-8").splitlines()
    fit = [
        line
        for line in lines
        if 2 <= len(line.split()) <= CORPUS_WORDS
        and all("\u0900" <= character <= "\u097f" or character in " ,.?!" for character in line)
    ]
    random.Random(TEST_SEED).shuffle(fit)
    return fit[:number]


def _draw_part(
    number: int, texts: Sequence[str], *, fonts: Sequence[Path], height: int
) -> list[Pair]:
    """Some lines of the training set."""
    seed = FIRST_PART + number
    lines = rendered_lines(texts, fonts, seed=seed, boxes=False, augment=True)
    drawn = (small_line(line, height) if height else _line(line) for line in lines)
    return [Pair(data_uri(image), text, at) for at, (image, text, _) in enumerate(drawn, 1)]


def write_lines(
    folder: Path,
    texts: Iterable[str],
    fonts: Sequence[Path],
    *,
    seed: int,
    height: int = 0,
) -> None:
    """Draw lines into a folder, at their own height or at this one, with the boxes of letters."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lines = rendered_lines(texts, fonts, seed=seed)
    write_pictures(folder, (small_line(line, height) if height else _line(line) for line in lines))


def _line(line: RenderedText) -> Example:
    return line.image, line.text, line.boxes


def small_line(line: RenderedText, height: int) -> Example:
    """A line scaled to a height, as a model scales it, in `GREYS` grey values, with its boxes."""
    from PIL import Image

    scale = height / line.image.height
    size = max(1, round(line.image.width * scale)), height
    grey = np.asarray(line.image.resize(size, Image.Resampling.BILINEAR))
    image = Image.fromarray(np.rint(grey / GREY_STEP).astype(np.uint8), "P")
    image.putpalette([value * GREY_STEP for value in range(GREYS) for _ in range(COLOURS)])
    boxes = [
        (text, (left * scale, top * scale, right * scale, bottom * scale))
        for text, (left, top, right, bottom) in line.boxes
    ]
    return image, line.text, boxes


def texts_of_kind(kind: str) -> Iterator[str]:
    """Lines that training lacks: sentences of the test split, their words, or numbers."""
    rng = random.Random(TEST_SEED)
    for sentence in generate_sentences("random", seed=TEST_SEED, max_words=10):
        match kind:
            case "sentences":
                yield sentence.hindi
            case "words":
                yield rng.choice(sentence.hindi.rstrip("।?!").split())
            case _:
                yield "".join(rng.choices(DIGITS, k=rng.randint(2, 8)))


def write_scene_data(out: Path, *, scenes: int, test_scenes: int, side: int, language: str) -> None:
    """`train`, `test` and `held-out` (unseen colours of shapes), each with a table of cells."""
    for name, seed, number, held_out in (
        ("train", 1, scenes, False),
        ("test", TEST_SEED, test_scenes, False),
        ("held-out", TEST_SEED, test_scenes, True),
    ):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        drawn = islice(generate_scenes(seed=seed, held_out=held_out), number)
        write_pictures(out / name, (_scene_example(scene, side, language) for scene in drawn))
        pairs = islice(scene_cell_pairs(seed=seed, language=language, held_out=held_out), number)
        _write_table(out / f"{name}-cells.tsv", pairs)


def _scene_example(scene: Scene, side: int, language: str) -> Example:
    return scene.draw(side), scene.caption(language), scene.boxes(side)


def _write_table(path: Path, pairs: Iterable[Pair]) -> None:
    lines = ["source\ttarget", *(f"{pair.source}\t{pair.target}" for pair in pairs)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
