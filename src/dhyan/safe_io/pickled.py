"""Checkpoints that are pickled, which can run any code on loading: they are named, never read."""

from pathlib import Path

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".pkl")  # of PyTorch: fairseq, OpenNMT-py, JoeyNMT
TO_SAFETENSORS = (
    "AutoModelForSeq2SeqLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER) of transformers"
)


def is_pickled(path: Path) -> bool:
    """Whether a file has the name of a pickled checkpoint; CTranslate2's model.bin is none."""
    return path.suffix in SUFFIXES and path.name != "model.bin"


def pickled_files(folder: Path) -> list[Path]:
    """The files of a folder that have such names."""
    return sorted(path for path in folder.iterdir() if is_pickled(path))


def refuse_pickled(path: Path) -> str:
    """What a person is told who names one."""
    if path.name.startswith("pytorch_model"):
        return (
            f"{path}: is pickled, which can run any code on loading, and is not read; where you trust "
            f"it, make model.safetensors with {TO_SAFETENSORS}"
        )
    return (
        f"{path}: looks like a checkpoint of fairseq, OpenNMT-py or JoeyNMT; they are pickled, which "
        f"can run any code on loading, and are not read; where you trust it, convert it with "
        f"ct2-fairseq-converter or ct2-opennmt-py-converter of CTranslate2 and name that folder "
        f"(JoeyNMT has no converter)"
    )
