"""Recognise the format of a model folder of another toolkit, and import it."""

from pathlib import Path

from dhyan.atomic_folder import MANIFEST
from dhyan.errors import UserError
from dhyan.interop.ctranslate2 import read_ctranslate2
from dhyan.interop.foreign_folder import ForeignFolder
from dhyan.interop.marian import read_marian
from dhyan.interop.write_model import ImportedModel, check_out, write_model
from dhyan.safe_io.json_toml import safe_repr

SUPPORTED = "Hugging Face Marian (OPUS-MT) and CTranslate2 Transformers"
NOT_YET = {
    "m2m_100": "M2M100 and NLLB",
    "nllb-moe": "NLLB",
    "bart": "BART",
    "mbart": "mBART",
    "t5": "T5",
    "mt5": "mT5",
    "fsmt": "fairseq's FSMT",
}
PICKLED = (".pt", ".pth", ".ckpt", ".bin", ".pkl")  # of PyTorch: fairseq, OpenNMT-py, JoeyNMT
TO_SAFETENSORS = (
    "AutoModelForSeq2SeqLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER) of transformers"
)


def import_model(path: Path, out: Path, *, languages: tuple[str, str] = ("", "")) -> ImportedModel:
    """Import the model of a folder as the new folder `out`, and return what it is.

    Nothing is unpickled, and the new folder is checked like any model of unknown origin. The
    languages, of source and target, are those of the folder where they are empty.
    """
    if not path.is_dir():
        problem = "is a file, not a folder" if path.exists() else "no such folder"
        raise UserError(f"{path}: {problem}; name the folder of a model")
    check_out(out)
    model = read_model_of(ForeignFolder(path)).in_languages(*languages)
    write_model(model, out)
    return model


def read_model_of(folder: ForeignFolder) -> ImportedModel:
    """The model of a folder in one of the formats that are supported."""
    if folder.has("model.bin"):
        return read_ctranslate2(folder)
    kind = folder.settings("config.json").text("model_type")
    if kind in NOT_YET:
        raise UserError(
            f"{folder.path}: is a model of {NOT_YET[kind]}, which cannot be imported yet; "
            f"{SUPPORTED} can"
        )
    pickled = sorted(path.name for path in folder.path.iterdir() if path.suffix in PICKLED)
    if kind == "marian":
        if folder.has("model.safetensors"):
            return read_marian(folder)
        if pickled:
            raise UserError(
                f"{folder.path / pickled[0]}: is pickled, which can run any code on loading, and is "
                f"not read; where you trust it, make model.safetensors with {TO_SAFETENSORS}"
            )
        raise UserError(f"{folder.path}: has no model.safetensors; download the weights too")
    if kind:
        raise UserError(
            f"{folder.path / 'config.json'}: model_type is {safe_repr(kind)}; {SUPPORTED} are imported"
        )
    if folder.has(MANIFEST):
        raise UserError(f"{folder.path}: is a model of dhyan already; name it as it is")
    if pickled:
        raise UserError(
            f"{folder.path / pickled[0]}: looks like a checkpoint of fairseq, OpenNMT-py or JoeyNMT; "
            f"they are pickled, which can run any code on loading, and are not read; convert it with "
            f"ct2-fairseq-converter or ct2-opennmt-py-converter of CTranslate2, and import that"
        )
    raise UserError(f"{folder.path}: is no model that can be imported; {SUPPORTED} can")
