"""Speech for the task text_to_speech: `python -m experiments.tasks.speech_data FOLDER`.

The synthesiser espeak-ng (GPL; used to make data, never shipped) says sentences of the primer, or
numbers in words, and reports when each phoneme begins. FOLDER gets `train.tsv`, `valid.tsv` and
`test.tsv`, each line phonemes, a tab and one symbol of the codebook for each frame of the sound;
`codebook.safetensors`; and `valid.json` and `test.json` with texts, phonemes and true onsets in
seconds. Install the library with `apt-get install espeak-ng` or `pip install espeakng-loader`.
"""

import argparse
import ctypes
import ctypes.util
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dhyan.audio.codebook import Codebook
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.audio.spectrogram import SpectrogramSettings
from dhyan.data.primer import generate_sentences
from dhyan.data.synthetic import english_number

SETTINGS = SpectrogramSettings()
LARGEST = 9_999  # of the numbers
MAX_WORDS = 7  # of a sentence of the primer
PRIMER_SPLITS = {"test": "random", "valid": "valid", "train": "train"}
MAX_FRAMES = 150
CODEBOOK_SOUNDS = 400  # the codebook is learned from the first training sentences

SYNCHRONOUS, PHONEME_EVENTS = 2, 1  # of speak_lib.h, as are the numbers below
RATE_PARAMETER, CHARACTERS, UTF8 = 1, 1, 1
END, PHONEME = 0, 7


class _Id(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    """`espeak_EVENT`."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Id),
    ]


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


@dataclass(frozen=True)
class Utterance:
    """A text, its sound, its phonemes, and when each begins, in seconds."""

    text: str
    samples: Tensor
    phonemes: tuple[str, ...]
    onsets: tuple[float, ...]


class Synthesiser:
    """espeak-ng through ctypes: a voice at a speed in words per minute."""

    def __init__(self, *, voice: str = "en", speed: int = 200) -> None:
        library, data = _find_library()
        self._library = ctypes.CDLL(library)
        self.rate = self._library.espeak_Initialize(
            SYNCHRONOUS, 0, data.encode() if data else None, PHONEME_EVENTS
        )
        if self.rate <= 0 or self._library.espeak_SetVoiceByName(voice.encode()):
            sys.exit(f"espeak-ng cannot be started with the voice {voice!r}")
        self._library.espeak_SetParameter(RATE_PARAMETER, speed, 0)
        self._sound, self._starts = bytearray(), list[tuple[str, int]]()
        self._callback = _Callback(self._receive)  # kept: C holds only its address
        self._library.espeak_SetSynthCallback(self._callback)

    def say(self, text: str) -> Utterance:
        """The sound of a text, with the phonemes that are long enough to have a frame."""
        self._sound.clear()
        self._starts.clear()
        data = text.encode() + b"\0"
        self._library.espeak_Synth(data, len(data), 0, CHARACTERS, 0, UTF8, None, None)
        samples = torch.from_numpy(np.frombuffer(bytes(self._sound), "<i2").astype(np.float32))
        phonemes = spoken_phonemes(self._starts, len(samples), SETTINGS.hop)
        return Utterance(
            text,
            samples / 32_768,
            tuple(name for name, _ in phonemes),
            tuple(start / self.rate for _, start in phonemes),
        )

    def _receive(self, sound: object, count: int, events: Sequence[_Event]) -> int:
        if sound:
            self._sound += ctypes.string_at(sound, 2 * count)  # type: ignore[arg-type]
        index = 0
        while events[index].type != END:
            if events[index].type == PHONEME:
                name = events[index].id.string.decode()
                self._starts.append((name, events[index].sample))
            index += 1
        return 0


def spoken_phonemes(
    starts: Sequence[tuple[str, int]], samples: int, shortest: int
) -> list[tuple[str, int]]:
    """The phonemes that last at least so many samples; the first begins with the sound.

    A pause beside a pause is part of it.
    """
    ends = [start for _, start in starts[1:]] + [samples]
    kept = list[tuple[str, int]]()
    for (name, start), end in zip(starts, ends, strict=True):
        name = "_" if name.startswith("_") else name
        if end - start >= shortest and not (kept and name == kept[-1][0] == "_"):
            kept.append((name, start if kept else 0))
    return kept


def primer_sentences(count: int, split: str, *, seed: int, core_share: float) -> list[str]:
    """Different short English sentences of the primer."""
    stream = generate_sentences(
        split, seed=seed, max_words=MAX_WORDS, core_share=core_share, everyday_share=0.0
    )
    texts = dict.fromkeys(pair.english for pair in islice(stream, 3 * count))
    return list(texts)[:count]


def numbers(count: int, *, seed: int) -> list[str]:
    """Different numbers in English words, as many of one to four digits as there are, at random."""
    rng = random.Random(seed)
    chosen = rng.sample(range(LARGEST + 1), count)
    return [english_number(number) for number in chosen]


def utterances(texts: Iterable[str], synthesiser: Synthesiser) -> Iterator[Utterance]:
    """The sounds of texts that are short enough."""
    for text in texts:
        utterance = synthesiser.say(text)
        if SETTINGS.frames(len(utterance.samples)) <= MAX_FRAMES:
            yield utterance


def split_texts(options: argparse.Namespace) -> dict[str, list[str]]:
    """The texts of the three splits, none of them in two."""
    held_out, seed = options.held_out, options.seed
    sizes = {"test": held_out, "valid": held_out, "train": options.train}
    if options.text == "primer":
        return {
            part: primer_sentences(sizes[part], split, seed=seed, core_share=options.core_share)
            for part, split in PRIMER_SPLITS.items()
        }
    texts = iter(numbers(min(sum(sizes.values()), LARGEST + 1), seed=seed))
    return {split: list(islice(texts, count)) for split, count in sizes.items()}


def write_split(
    folder: Path, name: str, spoken: Sequence[Utterance], codebook: Codebook
) -> list[int]:
    """Write one table, and return the number of frames of each sentence."""
    lines = [
        f"{' '.join(utterance.phonemes)}\t{codebook.encode(utterance.samples)}\n"
        for utterance in spoken
    ]
    (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    return [line.count(" c") + 1 for line in lines]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write tables, codebook and times into the folder."""
    parser = argparse.ArgumentParser(prog="speech_data", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--text", choices=("primer", "numbers"), default="primer")
    parser.add_argument("--core-share", type=float, default=0.1, help="of the primer's words")
    parser.add_argument("--train", type=int, default=3000, help="training sentences")
    parser.add_argument("--held-out", type=int, default=100, help="sentences of valid and of test")
    parser.add_argument("--codebook", type=int, default=256, help="entries of the codebook")
    parser.add_argument("--speed", type=int, default=200, help="words per minute")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)

    synthesiser = Synthesiser(speed=options.speed)
    if synthesiser.rate != SETTINGS.rate:
        sys.exit(f"espeak-ng gives {synthesiser.rate} Hz, not {SETTINGS.rate}")
    spoken = {
        name: list(utterances(texts, synthesiser)) for name, texts in split_texts(options).items()
    }
    sounds = [utterance.samples for utterance in spoken["train"][:CODEBOOK_SOUNDS]]
    codebook = Codebook.train(sounds, SETTINGS, size=options.codebook, seed=options.seed)
    codebook.write(options.folder / CODEBOOK_FILE)
    for name, part in spoken.items():
        frames = write_split(options.folder, name, part, codebook)
        mean = sum(frames) / len(frames)
        print(f"{name}: {len(frames)} sentences, {mean:.0f} frames on average, most {max(frames)}")
    for name in ("valid", "test"):
        records = [
            {"text": u.text, "phonemes": u.phonemes, "onsets": u.onsets} for u in spoken[name]
        ]
        text = json.dumps(
            {"frame_seconds": SETTINGS.frame_seconds, "speed": options.speed, "sentences": records}
        )
        (options.folder / f"{name}.json").write_text(text, encoding="utf-8")
    names = {name for part in spoken.values() for u in part for name in u.phonemes}
    print(f"{len(names)} phonemes: {' '.join(sorted(names))}")


def _find_library() -> tuple[str, str]:
    """The path of the library, and that of its data if it is not the system's."""
    try:
        import espeakng_loader  # type: ignore[import-not-found]

        return espeakng_loader.get_library_path(), espeakng_loader.get_data_path()
    except ImportError:
        library = ctypes.util.find_library("espeak-ng")
    if library is None:
        sys.exit("espeak-ng is missing: apt-get install espeak-ng, or pip install espeakng-loader")
    return library, ""


if __name__ == "__main__":
    main()
