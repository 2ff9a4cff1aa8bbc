"""Recognise the format of a model folder of another toolkit, and import it."""

from pathlib import Path

from dhyan.atomic_folder import MANIFEST
from dhyan.errors import UserError
from dhyan.interop.ctranslate2 import read_ctranslate2
from dhyan.interop.foreign_folder import ForeignFolder
from dhyan.interop.huggingface import has_weights
from dhyan.interop.marian import read_marian
from dhyan.interop.multilingual import LAYOUTS as MULTILINGUAL
from dhyan.interop.multilingual import read_multilingual
from dhyan.interop.t5 import read_t5
from dhyan.interop.write_model import ImportedModel, check_out, write_model
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.pickled import is_pickled, pickled_files, refuse_pickled

SUPPORTED = (
    "Hugging Face Marian (OPUS-MT), M2M100, NLLB-200, mBART-50 and T5, and CTranslate2 Transformers"
)
READERS = {"marian": read_marian, "t5": read_t5, "mt5": read_t5}  # by model_type
LACKING = {  # what dhyan has not that these models need
    "nllb-moe": "NLLB with experts: it needs a mixture of feed-forward networks",
    "bart": "BART: it needs the byte-level BPE of GPT-2",
    "umt5": "umT5: it needs a relative position bias in each layer",
    "fsmt": "fairseq's FSMT: it needs the BPE of Moses text",
}


def import_model(path: Path, out: Path, *, languages: tuple[str, str] = ("", "")) -> ImportedModel:
    """Import the model of a folder as the new folder `out`, and return what it is.

    Nothing is unpickled, and the new folder is checked like any model of unknown origin. The
    languages, of source and target, are those of the folder where they are empty.
    """
    if path.is_file() and is_pickled(path):
        raise UserError(refuse_pickled(path))
    if not path.is_dir():
        problem = "is a file, not a folder" if path.exists() else "no such folder"
        raise UserError(f"{path}: {problem}; name the folder of a model")
    check_out(out)
    model = read_model_of(ForeignFolder(path), languages)
    write_model(model, out)
    return model


def read_model_of(folder: ForeignFolder, languages: tuple[str, str] = ("", "")) -> ImportedModel:
    """The model of a folder in one of the formats that are supported."""
    if folder.has("model.bin"):
        return read_ctranslate2(folder).in_languages(*languages)
    kind = folder.settings("config.json").text("model_type")
    if kind in LACKING:
        raise UserError(
            f"{folder.path}: is a model of {LACKING[kind]}; {SUPPORTED} can be imported"
        )
    pickled = pickled_files(folder.path)
    if kind in (*READERS, *MULTILINGUAL):
        if has_weights(folder) and kind in READERS:
            return READERS[kind](folder).in_languages(*languages)
        if has_weights(folder):
            return read_multilingual(folder, languages)
        if pickled:
            raise UserError(refuse_pickled(pickled[0]))
        raise UserError(f"{folder.path}: has no model.safetensors; download the weights too")
    if kind:
        raise UserError(
            f"{folder.path / 'config.json'}: model_type is {safe_repr(kind)}; {SUPPORTED} are imported"
        )
    if folder.has(MANIFEST):
        raise UserError(f"{folder.path}: is a model of dhyan already; name it as it is")
    if pickled:
        raise UserError(refuse_pickled(pickled[0]))
    raise UserError(f"{folder.path}: is no model that can be imported; {SUPPORTED} can")
