"""Record of a beam search: every hypothesis it considered, with scores, rank and what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.batch import pad_source
from dhyan.config import DecodingOptions
from dhyan.decoding.beam import Beam, Hypothesis
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.prepare_requests import RequestBuilder
from dhyan.decoding.rules import Rule
from dhyan.decoding.search import extend_until_done
from dhyan.decoding.searcher import Searcher
from dhyan.decoding.translator import Translator
from dhyan.errors import UnsupportedOption, UserError
from dhyan.kernels.reference import extend_beam
from dhyan.special_tokens import BOS, EOS
from dhyan.text.codec import SourceSequence

Fate = Literal["kept", "finished", "dropped"]


@dataclass(frozen=True)
class BeamNode:
    """A hypothesis that a step considered: its last token, and the hypothesis it extends.

    `parent` is the index of that hypothesis; −1 at the root, which is BOS. `score` is the sum of
    the log-probabilities of its tokens, `score_by_length` that sum / step ** length_penalty.
    `rank` is its place among all extensions of its step, from 1.
    """

    step: int
    parent: int
    token: int
    logprob: float
    score: float
    score_by_length: float
    rank: int
    fate: Fate


ROOT = BeamNode(0, -1, BOS, 0.0, 0.0, 0.0, 1, "kept")


@dataclass(frozen=True)
class BeamRecord:
    """All nodes of the search for one sentence, parents first, and the nodes of its results.

    A step considers 2 × beam extensions; those that search could not choose are not recorded.
    `results` are indices of nodes, the best first, of finished hypotheses before unfinished ones.
    """

    beam: int
    length_penalty: float
    source: SourceSequence
    nodes: tuple[BeamNode, ...]
    results: tuple[int, ...]

    def path(self, node: int) -> list[int]:
        """The nodes from the first token to this one."""
        path = []
        while node > 0:
            path.append(node)
            node = self.nodes[node].parent
        return path[::-1]

    def ids(self, node: int) -> tuple[int, ...]:
        """The tokens of a hypothesis without BOS; EOS is the last if it is finished."""
        return tuple(self.nodes[index].token for index in self.path(node))


@dataclass(frozen=True)
class RecordingBeam:
    """The beam of one sentence, which writes every extension that it considers to `nodes`.

    It chooses as `Beam` does; search does not know that it is recorded. `slots` are the nodes of
    the unfinished hypotheses, 0 for an empty slot.
    """

    beam: Beam
    nodes: list[BeamNode]
    slots: tuple[int, ...]

    @classmethod
    def start(cls, width: int, length_penalty: float, device: torch.device) -> "RecordingBeam":
        """An empty hypothesis, the root of the record."""
        return cls(Beam.start(1, width, length_penalty, device), [ROOT], (0,) * width)

    @property
    def ids(self) -> Int[Tensor, "N W T"]:
        """The unfinished hypotheses, BOS first."""
        return self.beam.ids

    @property
    def score(self) -> Float[Tensor, "N W"]:
        """Their log-probabilities."""
        return self.beam.score

    def extend(
        self, scores: Float[Tensor, "N W V"], penalty: Float[Tensor, "N V"] | None = None
    ) -> tuple["RecordingBeam", Int[Tensor, "N W"]]:
        """The beam one token longer; the 2 × beam best extensions are recorded."""
        continuing, ending = extend_beam(self.beam.score, scores, end=EOS, penalty=penalty)
        chosen: dict[tuple[int, int], Fate] = {}
        for candidates, fate in ((continuing, "kept"), (ending, "finished")):
            rows = zip(candidates.parent[0].tolist(), candidates.token[0].tolist(), strict=True)
            finite = (candidates.score[0] > -torch.inf).tolist()
            chosen |= {row: fate for row, real in zip(rows, finite, strict=True) if real}
        added = dict(self._record(scores[0], chosen))
        rows = zip(continuing.parent[0].tolist(), continuing.token[0].tolist(), strict=True)
        slots = tuple(added.get(row, 0) for row in rows)
        beam = self.beam.updated(continuing, ending)
        return RecordingBeam(beam, self.nodes, slots), continuing.parent

    def _record(
        self, logprobs: Float[Tensor, "W V"], chosen: dict[tuple[int, int], Fate]
    ) -> Iterator[tuple[tuple[int, int], int]]:
        """Record the best extensions; the slot and token of each, and its node."""
        step, vocabulary = self.beam.ids.shape[2], logprobs.shape[1]
        total = self.beam.score[0].unsqueeze(1) + logprobs
        best, choice = total.flatten().topk(2 * len(logprobs))
        for rank, (score, at) in enumerate(zip(best.tolist(), choice.tolist(), strict=True), 1):
            if score == -torch.inf:
                return
            slot, token = at // vocabulary, at % vocabulary
            self.nodes.append(
                BeamNode(
                    step,
                    self.slots[slot],
                    token,
                    float(logprobs[slot, token]),
                    score,
                    score / step**self.beam.length_penalty,
                    rank,
                    chosen.get((slot, token), "dropped"),
                )
            )
            yield (slot, token), len(self.nodes) - 1

    def done(self) -> Bool[Tensor, " N"]:
        """Whether no unfinished hypothesis can beat the finished ones."""
        return self.beam.done()

    def select(self, rows: Int[Tensor, " R"]) -> "RecordingBeam":
        """The beam of the sentence, or of none."""
        return RecordingBeam(self.beam.select(rows), self.nodes, self.slots)

    def ranked(self, sentence: int) -> list[Hypothesis]:
        """The hypotheses, finished ones first."""
        return self.beam.ranked(sentence)


def record_beam_search(
    translator: Translator,
    text: str,
    options: DecodingOptions,
    *,
    prefix: str = "",
    rules: Sequence[Rule] = (),
) -> BeamRecord:
    """Translate a sentence by beam search and record the search; a beam of 1 is greedy search.

    The results are those of `translator` with the same options.
    """
    if options.sample or options.beam_groups > 1 or options.coverage_penalty:
        raise UnsupportedOption(
            "only plain beam search is recorded: leave out {sample}, {beam_groups} and "
            "{coverage_penalty}"
        )
    builder = RequestBuilder(
        translator.source, translator.target, options, translator.limits, translator.placeholders
    )
    [request] = builder.prepare([text], prefixes=prefix or None)
    if not len(request.source):
        raise UserError("the sentence is empty: write something to translate")
    if request.required:
        raise UserError("a search with required placeholders is not recorded: leave out numbers")
    model, device = translator.ensemble, translator.device
    searcher = Searcher(
        model,
        options,
        rules,
        translator.target,
        device,
        translator.tokens_per_batch,
        task_rules=translator.task_rules,
    )
    start = RecordingBeam.start(options.width, options.length_penalty, device)
    with evaluation_mode(model):
        [hypotheses] = extend_until_done(
            start,
            model,
            pad_source([request.source]).to(device),
            max_length=request.max_length,
            rules=searcher.all_rules([request]),
        )
    if not hypotheses:
        raise UserError("the model gives no token a finite score: its weights have diverged")
    record = BeamRecord(
        options.width, options.length_penalty, request.source, tuple(start.nodes), ()
    )
    nodes = {
        record.ids(index): index
        for index, node in enumerate(record.nodes)
        if node.fate != "dropped"
    }
    results = tuple(nodes[result.ids + (EOS,) * result.finished] for result in hypotheses)
    return BeamRecord(record.beam, record.length_penalty, record.source, record.nodes, results)
