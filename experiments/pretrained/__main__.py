"""`python -m experiments.pretrained STEP [NAME…]`: make the pretrained models again, and test them.

`texts` writes the texts of the models into `--out`; a machine without the corpora trains from that
folder, carried to it. `train` writes the texts that are not there and trains the models side by side
for `--seconds`; a second call resumes them. The commands are kept beside the runs, for the cards.
`pack` averages the last checkpoints, scores the packed model once on the held-out test set and
writes its folder with a card, by default into the package, or with `--tar` as one file each.
`sentences` adds the hashes of the training sentences to packed models that lack them.
`key-words` counts the everyday sentences whose key words the English–Hindi models keep.
"""

import argparse
import os
import shlex
from pathlib import Path

from dhyan.pretrained import MODELS
from dhyan.quantization import PRECISIONS
from experiments.pretrained.build import (
    add_training_sentences,
    check_names,
    pack,
    record_command,
    train,
    write_texts,
)
from experiments.pretrained.corpus import Primer
from experiments.pretrained.key_words import key_word_test

DATA = Path(os.environ.get("DHYAN_DATA") or "../shared/data")
SETTING = "KEY=VALUE"
PRIMER = ("primer_pairs", "primer_words", "primer_weight")
OPTIONS = {  # those on which the result of a step depends
    "texts": PRIMER,
    "train": ("seconds", *PRIMER, "set"),
    "pack": (*PRIMER, "precision"),
    "sentences": PRIMER,
}


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments.pretrained", description=__doc__)
    parser.add_argument("step", choices=("texts", "train", "pack", "sentences", "key-words"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; default: all")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--out", type=Path, default=Path("build/pretrained"), help="runs and texts")
    parser.add_argument("--seconds", type=float, default=330, help="training time, of all at once")
    parser.add_argument("--primer-pairs", type=int, default=Primer.pairs)
    parser.add_argument("--primer-words", type=int, default=Primer.max_words, help="at most")
    parser.add_argument("--primer-weight", type=float, default=Primer.weight)
    parser.add_argument(
        "--set", action="append", default=[], metavar=SETTING, help="of every recipe"
    )
    parser.add_argument("--models", type=Path, default=MODELS, help="where the packed models go")
    parser.add_argument("--precision", choices=PRECISIONS, default="int8", help="of the weights")
    parser.add_argument("--tar", action="store_true", help="one .tar for each packed model")
    parser.add_argument("--commit", default="", help="where the code has no history")
    given = parser.parse_args()
    if given.step == "key-words":
        from benchmarks.report import write_result

        print(write_result("key-words", key_word_test()))
        return
    names = check_names(given.names)
    command = _command(given, parser)
    primer = Primer(given.primer_pairs, given.primer_words, given.primer_weight)
    if given.step == "texts":
        print(*write_texts(names, given.data, given.out, primer), sep="\n")
        return
    if given.step == "train":
        settings = dict(text.split("=", 1) for text in given.set)
        record_command(command, given.out)
        train(names, given.data, given.out, seconds=given.seconds, primer=primer, settings=settings)
        return
    if given.step == "sentences":
        write_texts(names, given.data, given.out, primer)
        for name in names:
            add_training_sentences(name, given.models / name, given.out, primer)
        return
    commit = given.commit
    if not commit:
        from benchmarks.report import git

        commit = git("rev-parse", "--short", "HEAD")
    pack(
        names,
        given.out,
        given.models,
        precision=given.precision,
        primer=primer,
        commit=commit,
        command=command,
        tar=given.tar,
    )


def _command(given: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    """The command line, without the options that only say where files are."""
    words = ["python", "-m", "experiments.pretrained", given.step, *given.names]
    for name in OPTIONS[given.step]:
        value = getattr(given, name)
        if value != parser.get_default(name):
            for text in value if isinstance(value, list) else [str(value)]:
                words += [f"--{name.replace('_', '-')}", text]
    return shlex.join(words)


if __name__ == "__main__":
    main()
