"""How a text_to_speech model speaks: `python -m experiments.tasks.speech_measure RUN DATA OUT`.

DATA is the folder that `speech_data` wrote. Alignment: the attention over the synthesiser's own
frames against the true phoneme times, beside an alignment that spreads the phonemes evenly. Sound:
the model speaks the test sentences; the log-mel distance of its sounds from the synthesiser's, in dB
along the best time warp (Sakoe and Chiba, 1978), beside that of the codebook alone and of other
sentences; and how often a sound is nearest to its own sentence among all. OUT gets `result.json`,
and of the first sentences the model's sound, the codebook's and the synthesiser's as WAV.
`--trained TEXT` says how the model was trained, and a result file is written too.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import dhyan
from benchmarks.report import write_result
from dhyan.audio.codebook import Codebook
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.audio.spectrogram import log_mel
from dhyan.audio.wav import to_wav_bytes
from dhyan.evaluation.speech_alignment import (
    SpokenSentence,
    diagonality,
    speech_alignment,
    uniform_alignment,
)
from dhyan.insight.word_alignment import pair_weights
from experiments.tasks.speech_data import SETTINGS, Synthesiser

DECIBELS = 20 / math.log(10)  # of a natural logarithm of magnitudes
WRITTEN = 3


def warped_distances(frames: Tensor, others: Sequence[Tensor]) -> np.ndarray:
    """The mean distance in dB of two log-mel spectrograms along the best time warp, for each other."""
    longest = max(map(len, others))
    distances = np.full((len(frames), longest, len(others)), np.inf)
    for index, other in enumerate(others):
        bands = math.sqrt(frames.shape[1])
        distances[:, : len(other), index] = (torch.cdist(frames, other) / bands).numpy() * DECIBELS
    total = np.full(
        (longest + 1, len(others)), np.inf
    )  # of the best path to each frame of the other
    steps = np.zeros((longest + 1, len(others)))  # and its length
    total[0] = 0.0
    for row in distances:
        before, steps_before = total.copy(), steps.copy()
        total[0], steps[0] = np.inf, 0
        for at in range(1, longest + 1):
            ways = np.stack([before[at - 1], before[at], total[at - 1]])
            lengths = np.stack([steps_before[at - 1], steps_before[at], steps[at - 1]])
            best = ways.argmin(axis=0)[None]
            total[at] = np.take_along_axis(ways, best, 0)[0] + row[at - 1]
            steps[at] = np.take_along_axis(lengths, best, 0)[0] + 1
    ends = [len(other) for other in others]
    columns = np.arange(len(others))
    return total[ends, columns] / steps[ends, columns]


def measure_alignment(
    translator: dhyan.Translator, sentences: Sequence[dict[str, object]], frames: Sequence[str]
) -> dict[str, object]:
    """The attention over the true frames, against the true times and an even spread."""
    attended, even = [], []
    for sentence, symbols in zip(sentences, frames, strict=True):
        phonemes, onsets = sentence["phonemes"], sentence["onsets"]
        weights = pair_weights(translator, " ".join(phonemes), symbols)[:, :-1]
        spread = uniform_alignment(len(weights), len(phonemes))
        attended.append(SpokenSentence(weights, onsets))
        even.append(
            SpokenSentence(torch.nn.functional.one_hot(spread, len(phonemes)).float(), onsets)
        )
    return {
        "attention": asdict(speech_alignment(attended, SETTINGS.frame_seconds)),
        "even_spread": asdict(speech_alignment(even, SETTINGS.frame_seconds)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure a run and write the result and some sounds."""
    parser = argparse.ArgumentParser(prog="speech_measure", description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--part", choices=("valid", "test"), default="test")
    parser.add_argument("--trained", default="", help="how; with it a result file is written")
    parser.add_argument("--alignment-only", action="store_true", help="needs no synthesiser")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)

    codebook = Codebook.read(options.data / CODEBOOK_FILE)
    record = json.loads((options.data / f"{options.part}.json").read_text(encoding="utf-8"))
    sentences = record["sentences"][: options.sentences]
    lines = (options.data / f"{options.part}.tsv").read_text(encoding="utf-8").splitlines()
    frames = [line.split("\t")[1] for line in lines][: options.sentences]
    translator = dhyan.load(options.run, device="cpu")
    result: dict[str, object] = measure_alignment(translator, sentences, frames)
    if options.alignment_only:
        _write(result, options.out)
        return

    sources = [" ".join(sentence["phonemes"]) for sentence in sentences]
    spoken = [
        hypothesis.text for hypothesis in translator.translate(sources, beam=1, max_length=250)
    ]
    synthesiser = Synthesiser(speed=record["speed"])
    true = [synthesiser.say(sentence["text"]).samples for sentence in sentences]
    sounds = [codebook.decode(symbols) for symbols in spoken]
    coded = [codebook.decode(symbols) for symbols in frames]
    mels = [log_mel(samples, codebook.settings) for samples in true]
    table = np.stack([warped_distances(log_mel(s, codebook.settings), mels) for s in sounds])
    floor = [
        warped_distances(log_mel(samples, codebook.settings), [mel])[0]
        for samples, mel in zip(coded, mels, strict=True)
    ]
    own = table.diagonal()
    others = table[~np.eye(len(table), dtype=bool)]
    monotonic = [
        diagonality(pair_weights(translator, source, symbols)[:, :-1])
        for source, symbols in zip(sources, spoken, strict=True)
        if symbols
    ]
    ratios = [len(s.split()) / len(f.split()) for s, f in zip(spoken, frames, strict=True)]
    result["sound"] = {
        "distance_db": float(own.mean()),
        "distance_of_codebook_db": float(np.mean(floor)),
        "distance_of_other_sentences_db": float(others.mean()),
        "nearest_to_its_sentence": float((table.argmin(axis=1) == np.arange(len(table))).mean()),
        "length_ratio_mean": float(np.mean(ratios)),
        "length_ratio_range": [float(min(ratios)), float(max(ratios))],
        "diagonality": float(np.mean(monotonic)),
        "sentences": len(sentences),
    }
    for index in range(min(WRITTEN, len(sentences))):
        for name, samples in (("model", sounds), ("codebook", coded), ("synthesiser", true)):
            data = to_wav_bytes(samples[index], SETTINGS.rate)
            (options.out / f"{index}-{name}.wav").write_bytes(data)
    _write(result, options.out)
    if options.trained:
        print(write_result("text-to-speech", {"trained": options.trained, **result}))


def _write(result: dict[str, object], out: Path) -> None:
    text = json.dumps(result, indent=2)
    (out / "result.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
