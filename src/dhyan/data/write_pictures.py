"""Write a folder of pictures that `read_pictures` reads: captions.tsv, and boxes as JSON lines."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dhyan.atomic_folder import atomic_folder
from dhyan.text.image_frames import Box

if TYPE_CHECKING:
    import PIL.Image

CAPTIONS, BOXES = "captions.tsv", "boxes.jsonl"
Example = tuple["PIL.Image.Image", str, Sequence[tuple[str, Box]]]
"""A picture, its text, and what it shows in which box."""


def write_pictures(folder: Path, examples: Iterable[Example]) -> int:
    """Write the pictures, their texts and their boxes, the whole folder at once; returns how many.

    A line of boxes.jsonl is `{"image": …, "boxes": [[text, left, top, right, bottom], …]}`.
    """
    captions, boxes, number = ["image\ttext"], list[str](), 0
    with atomic_folder(folder) as unfinished:
        for number, (image, text, parts) in enumerate(examples, 1):
            name = f"{number:06}.png"
            image.save(unfinished / name)
            captions.append(f"{name}\t{' '.join(text.split())}")
            rounded = [[part, *(round(side, 1) for side in box)] for part, box in parts]
            boxes.append(_json({"image": name, "boxes": rounded}))
        for name, lines in ((CAPTIONS, captions), (BOXES, boxes)):
            (unfinished / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return number


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
