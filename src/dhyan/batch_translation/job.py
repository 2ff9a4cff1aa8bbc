"""What is done with every shard: model, languages, options; written down, so that all agree."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.config.declare_settings import parse_section
from dhyan.decoding.translate_each import translate_each
from dhyan.errors import UnsupportedOption, UserError, ran_out_of_memory
from dhyan.model_check import MODEL_FILES, check_folder
from dhyan.open_translator import open_translator
from dhyan.pretrained import find_pretrained
from dhyan.version import __version__

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator

NOT_COMPARED = ("model", "dhyan")  # a model is known by its hash, wherever its folder lies


@dataclass(frozen=True, kw_only=True)
class TranslationJob:
    """How sentences are translated: the same in every process, whichever engine starts it.

    `model` is a name or an absolute path, `model_sha256` identifies its files.
    """

    model: str
    model_sha256: str
    options: DecodingOptions
    source_language: str = ""
    target_language: str = ""
    paragraphs: bool = False
    plain: bool = False
    glossary: Mapping[str, str] = field(default_factory=dict)
    forbidden: Sequence[str] = ()
    dhyan: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """The job as JSON has it."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TranslationJob":
        """A job from its JSON; a UserError for anything else."""
        names = cls.__dataclass_fields__.keys()
        try:
            options = parse_section(DecodingOptions, values["options"], "options")
            return cls(**{name: values[name] for name in names} | {"options": options})
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"job: cannot be understood ({error})") from None

    def difference(self, other: "TranslationJob") -> str:
        """What this job does otherwise than another, as "beam 5, not 1"; empty if nothing."""
        ours, theirs = _flat(self.to_dict()), _flat(other.to_dict())
        for name, value in ours.items():
            if name not in NOT_COMPARED and theirs.get(name) != value:
                if name == "model_sha256":
                    return f"another model, {self.model}"
                shown = (json.dumps(v, ensure_ascii=False)[:60] for v in (value, theirs.get(name)))
                return "{} {}, not {}".format(name, *shown)
        return ""

    def open(self, *, device: str = "auto", threads: int = 0) -> "Translator":
        """The translator of this job; the same one again within a process."""
        return _open(json.dumps(self.to_dict()), device, threads)

    def translate(
        self,
        translator: "Translator",
        texts: Sequence[str],
        first: int,
        error_of_line: Callable[[Exception], UserError] | None = None,
    ) -> "list[Translation | UserError]":
        """A translation for each text, or the error it caused; `first` is the number of the first."""

        def translate(indices: list[int]) -> "Sequence[Translation]":
            chosen, numbers = [texts[at] for at in indices], [first + at for at in indices]
            if self.paragraphs:
                return translator.translate_paragraphs(
                    chosen,
                    self.options,
                    glossary=self.glossary or None,
                    forbidden=self.forbidden,
                    numbers=numbers,
                )
            return translator.translate_sentences(
                chosen,
                self.options,
                glossary=self.glossary or None,
                forbidden=self.forbidden,
                numbers=numbers,
            )

        return translate_each(translate, range(len(texts)), error_of_line or _error_of_line)


def make_job(
    model: str | Path,
    *,
    source_language: str = "",
    target_language: str = "",
    paragraphs: bool = False,
    plain: bool = False,
    glossary: Mapping[str, str] | None = None,
    forbidden: Sequence[str] = (),
    **changes: Unpack[DecodingChanges],
) -> TranslationJob:
    """The job of translating with a model, with changes to its decoding options."""
    checked = check_folder(model)
    if changes.get("nbest", 1) not in (None, 1):
        raise UnsupportedOption("a shard has one translation for each line: leave out {nbest}")
    return TranslationJob(
        model=str(model) if find_pretrained(model) else str(Path(model).resolve()),
        model_sha256=_identify(checked.manifest),
        options=replace(checked.recipe.decoding.changed(**changes), nbest=1),
        source_language=source_language,
        target_language=target_language,
        paragraphs=paragraphs,
        plain=plain,
        glossary=dict(glossary or {}),
        forbidden=list(forbidden),
    )


@lru_cache(maxsize=1)
def _open(job_json: str, device: str, threads: int) -> "Translator":
    job = TranslationJob.from_dict(json.loads(job_json))
    folder = check_folder(job.model).folder
    if _identify(check_folder(folder).manifest) != job.model_sha256:
        raise UserError(
            f"{job.model}: is not the model the job was begun with; put that one back, or begin again "
            f"in another folder"
        )
    # The checkpoint itself: that of a run may change while the run goes on.
    translator = open_translator(folder, device=device, threads=threads)
    if job.source_language or job.target_language:
        translator = translator.in_languages(job.source_language, job.target_language)
    return replace(translator, fast=translator.fast and not job.plain)


def _identify(manifest: Mapping[str, Any]) -> str:
    """A hash of what translations depend on: the hashes of a model's files."""
    hashes = {name: manifest["files"][name]["sha256"] for name in sorted(MODEL_FILES)}
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def _flat(job: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: job[name] for name in job if name != "options"}, **job["options"]}


def _error_of_line(error: Exception) -> UserError:
    """The error as one of a line; one that concerns all lines, or is a bug, is raised."""
    if isinstance(error, UnsupportedOption) and error.number is None:
        raise error
    if isinstance(error, UserError):
        return error
    if not ran_out_of_memory(error):
        raise error
    return UserError("out of memory; translate it by itself, with a smaller beam")
