"""A contest in translating: the same made-up sentences for everyone, as long as their answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.speed.ctranslate2_peer import Try, converted
from benchmarks.speed.model_recipes import Size
from benchmarks.speed.timing import Effort, Row, Table, paces
from benchmarks.speed.transformers_peer import marian

UNIT = "output tokens/s"
KINDS = {"cuda": ("float16", "int8_float16"), "cpu": ("float32", "int8")}


@dataclass(frozen=True)
class Setting:
    """So many sentences at once, searched with a beam of this width."""

    sentences: int
    beam: int

    def __str__(self) -> str:
        return f"{'greedy' if self.beam == 1 else f'beam {self.beam}'}, {self.sentences}"


SETTINGS = (Setting(1, 1), Setting(128, 1), Setting(1024, 1), Setting(128, 5), Setting(1024, 5))


@dataclass(frozen=True)
class Asked:
    """What a contestant is given: sources as a tensor and as lists, the beam and the length."""

    ids: Tensor
    rows: list[list[int]]
    beam: int
    length: int


Search = Callable[[Asked], Sequence[Sequence[int]]]


@dataclass(frozen=True)
class Contest:
    """The same made-up sentences for everyone, of one length and translated into as many tokens."""

    table: Table
    size: Size
    settings: tuple[Setting, ...]
    device: str
    effort: Effort

    def enter(self, who: str, search: Search, note: str = "", *, slow: bool = False) -> None:
        """Time a search at every setting, if it says as many tokens as it is asked for.

        A slow one is timed less often, and not with the most sentences.
        """
        repeats = min(self.effort.windows, 2) if slow else self.effort.windows
        for setting in [one for one in self.settings if one.sentences <= 128 or not slow]:
            with self.table.trying(f"{who}, {setting}"):
                asked = self.asked(setting)
                said = search(asked)
                if any(len(row) != asked.length for row in said):
                    raise ValueError(f"not {asked.length} tokens each: {list(map(len, said))}")
                tokens = setting.sentences * asked.length
                found = paces(lambda: search(asked), tokens, repeats=repeats)  # noqa: B023
                self.table.add(Row.of(who, str(setting), UNIT, found, note))

    def asked(self, setting: Setting) -> Asked:
        """What everyone is given at a setting."""
        ids = self.drawn(setting.sentences)
        return Asked(ids.to(self.device), ids.tolist(), setting.beam, self.size.length)

    def note(self, who: str, setting: Setting, seconds: Sequence[float]) -> None:
        """What was timed elsewhere."""
        tokens = setting.sentences * self.size.length
        found = [tokens / one for one in seconds]
        self.table.add(Row.of(who, str(setting), UNIT, found))

    def drawn(self, sentences: int) -> Tensor:
        """The sources: the same every time."""
        draw = torch.Generator().manual_seed(sentences)
        shape = (sentences, self.size.length)
        return torch.randint(4, self.size.vocabulary - 1, shape, generator=draw)


def transformers_generate(contest: Contest) -> None:
    """`generate` of `transformers`, in bf16."""
    model = marian(contest.size, contest.device).bfloat16().eval()
    contest.enter("transformers, generate", lambda asked: generate(model, asked).tolist())


def ctranslate2(contest: Contest, packed: Path | None) -> None:
    """CTranslate2, in each of its precisions, with the weights of MarianMT."""
    device, few = contest.device, contest.asked(Setting(16, 1))
    model = marian(contest.size, device).eval()
    wanted = generate(model, few).tolist()
    tries = [try_of(contest.asked(one), contest.effort.windows) for one in contest.settings]
    with converted(model.cpu(), packed) as ready:
        [(_, said)] = ready.translate([try_of(few, 1)], kind="float32", device=device)
        contest.table.check("CTranslate2 says what transformers says", same(said, wanted))
        for kind in KINDS[device]:
            with contest.table.trying(f"CTranslate2, {kind}"):
                found = ready.translate(tries, kind=kind, device=device)
                for setting, (seconds, _) in zip(contest.settings, found, strict=True):
                    contest.note(f"CTranslate2, {kind}", setting, seconds)


def try_of(asked: Asked, repeats: int) -> Try:
    """The same, as CTranslate2 is asked."""
    return Try(asked.rows, asked.beam, asked.length, repeats)


def generate(model: Any, asked: Asked) -> Tensor:
    """What `generate` says in exactly so many tokens, without the first one it is given."""
    model.generation_config.eos_token_id = None
    with torch.inference_mode():
        said = model.generate(
            input_ids=asked.ids,
            attention_mask=torch.ones_like(asked.ids),
            num_beams=asked.beam,
            do_sample=False,
            max_new_tokens=asked.length,
        )
    return said[:, 1:]


def same(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    """The share of places at which two searches say the same."""
    rows = zip(one, other, strict=True)
    places = [a == b for row, twin in rows for a, b in zip(row, twin, strict=True)]
    return sum(places) / len(places)
