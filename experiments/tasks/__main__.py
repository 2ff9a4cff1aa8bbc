"""`python -m experiments.tasks ocr-data|scene-data|ocr-baseline`: data and baselines of pictures.

`ocr-data OUT` draws lines of Hindi in fonts of Debian: `train`, `valid`, and test sets in held-out
fonts; with `--height 32`, that of the recipe, pictures of training are small files.
`scene-data OUT` draws scenes with captions and writes their grids of cells. `ocr-baseline OUT`
measures Tesseract on the test sets of `ocr-data` and writes a result file.
"""

import argparse
import shlex
import sys
from pathlib import Path

from benchmarks.report import write_result
from experiments.tasks.fonts import FOLDER, HELD_OUT
from experiments.tasks.ocr_baseline import measure_tesseract
from experiments.tasks.picture_data import write_ocr_data, write_scene_data


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """The step and its options."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tasks", description=__doc__)
    parser.add_argument("step", choices=("ocr-data", "scene-data", "ocr-baseline"))
    parser.add_argument("out", type=Path, help="folder of the data")
    parser.add_argument("--count", type=int, default=5000, help="training lines or scenes")
    parser.add_argument("--test-count", type=int, default=500, help="test lines or scenes")
    parser.add_argument("--max-words", type=int, default=6, help="of a line")
    parser.add_argument("--height", type=int, default=0, help="of training lines; 0: their own")
    parser.add_argument(
        "--pseudowords", type=float, default=0.0, help="training lines with such words"
    )
    parser.add_argument("--corpus", type=Path, help="text whose lines are a further test")
    parser.add_argument("--side", type=int, default=64, help="of a scene, in pixels")
    parser.add_argument("--language", default="en", choices=("en", "hi"), help="of captions")
    parser.add_argument("--fonts", type=Path, default=FOLDER, help="folder of the fonts")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    return parser.parse_args(words)


def main(words: list[str]) -> None:
    """Run the step that the command line names."""
    given = parse_arguments(words)
    match given.step:
        case "ocr-data":
            write_ocr_data(
                given.out,
                lines=given.count,
                test_lines=given.test_count,
                max_words=given.max_words,
                height=given.height,
                pseudowords=given.pseudowords,
                corpus=given.corpus,
                fonts=given.fonts,
                jobs=given.jobs,
            )
        case "scene-data":
            write_scene_data(
                given.out,
                scenes=given.count,
                test_scenes=given.test_count,
                side=given.side,
                language=given.language,
            )
        case "ocr-baseline":
            figures = measure_tesseract(given.out, given.jobs)
            command = shlex.join(["python", "-m", "experiments.tasks", *words])
            facts = {"command": command, "fonts": list(HELD_OUT)}
            print(write_result("ocr-baseline", {**facts, **figures}))


if __name__ == "__main__":
    main(sys.argv[1:])
