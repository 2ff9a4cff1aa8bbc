"""Two encoders of the same first weights: one learns to translate, the other to judge sentences."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dhyan.batch import Tokens
from dhyan.config import Recipe, load_recipe
from dhyan.data.primer import primer_twins
from dhyan.decoding.translator import Translator
from dhyan.lessons.self_attention.encoded import encoder_of
from dhyan.lessons.self_attention.sentiment import sentiment_of
from dhyan.models.transformer import TransformerEncoder

CORE, SHORTEST, LONGEST = 0.15, 3, 8  # of the primer: the share of its words, words a sentence
PAIRS, BATCH, KINDS = 8000, 64, 3
RATE = 1e-3
UNTRAINED, TRANSLATION, SENTIMENT = "untrained", "translation", "sentiment"

Hear = Callable[[str], None]


@dataclass(frozen=True)
class TwoTasks:
    """The first weights and what each task made of them; how well each is done on other sentences.

    `chrf` is of translations, `loss` of the judge's last steps.
    """

    translator: Translator
    first: TransformerEncoder
    judge: TransformerEncoder
    head: nn.Linear
    chrf: float
    loss: float

    @property
    def encoders(self) -> dict[str, TransformerEncoder]:
        """All three by what they were trained for."""
        return {
            UNTRAINED: self.first,
            TRANSLATION: encoder_of(self.translator),
            SENTIMENT: self.judge,
        }


def train_both(
    *, steps: int, seed: int, hear: Hear = lambda line: None, device: str = "cpu"
) -> TwoTasks:
    """Train a small Transformer to translate the primer, and its encoder anew to judge it."""
    from dhyan.run import train
    from dhyan.training.events import Stepped, Validated

    scores: dict[str, float] = {}
    with torch.random.fork_rng(), TemporaryDirectory() as folder:
        run = train(recipe(steps=steps, seed=seed), Path(folder) / "run", device=device)
        translator = run.folder.translator
        first = deepcopy(encoder_of(translator)).eval()
        for event in run:
            if isinstance(event, Validated):
                scores = dict(event.scores)
            if isinstance(event, Stepped) and event.step % 100 == 0:
                hear(f"translation: step {event.step}, loss {event.loss:.3f}")
        judge, head, loss = _judging(
            translator, deepcopy(first), steps=steps // 2, seed=seed, hear=hear
        )
    return TwoTasks(translator, first, judge.eval(), head, scores["chrf"], loss)


def recipe(*, steps: int, seed: int) -> Recipe:
    """A Transformer of two layers and 64 numbers a word, over whole words."""
    both = {"width": 64, "feed_forward_width": 128, "heads": 4, "layers": 2, "dropout": 0.0}
    sides = {f"{side}.{key}": one for side in ("encoder", "decoder") for key, one in both.items()}
    return load_recipe(
        "transformer2017-small",
        {
            **sides,
            "data.task": "primer",
            "data.pairs": PAIRS,
            "data.core_share": CORE,
            "data.min_words": SHORTEST,
            "data.max_words": LONGEST,
            "text.tokenizer": "words",
            "text.source_vocabulary_size": 3000,
            "text.target_vocabulary_size": 4000,
            "training.steps": steps,
            "training.tokens_per_batch": 768,
            "training.learning_rate": 4e-3,
            "training.schedule": "cosine",
            "training.warmup_steps": max(1, steps // 10),
            "training.label_smoothing": 0.0,
            "training.validate_every": steps,
            "training.valid_sentences": 100,
            "training.save_every": steps,
            "training.seed": seed,
        },
    )


def _judging(
    translator: Translator, encoder: TransformerEncoder, *, steps: int, seed: int, hear: Hear
) -> tuple[TransformerEncoder, nn.Linear, float]:
    """Learn which sentences speak well or ill from the mean of the states; each kind as often."""
    made = primer_twins("train", seed=seed, shortest=SHORTEST, longest=LONGEST, core=CORE)
    kinds: list[list[list[int]]] = [[] for _ in range(KINDS)]
    for twin in islice(made, PAIRS):
        kinds[sentiment_of(twin)].append(translator.encode(twin.english))
    torch.manual_seed(seed)
    head = nn.Linear(encoder.width, KINDS).to(translator.device)
    chances = torch.Generator().manual_seed(seed)
    weights = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(weights, lr=RATE)
    encoder.train()
    recent: list[Tensor] = []
    for step in range(1, steps + 1):
        labels = torch.randint(KINDS, (BATCH,), generator=chances)
        rows = [
            kinds[kind][int(torch.randint(len(kinds[kind]), (), generator=chances))]
            for kind in labels.tolist()
        ]
        said = head(encoder(Tokens.pad(rows).to(translator.device)).summary)
        loss = cross_entropy(said, labels.to(translator.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = [*recent[-49:], loss.detach()]
        if step % 100 == 0:
            hear(f"sentiment: step {step}, loss {float(torch.stack(recent).mean()):.3f}")
    return encoder, head, float(torch.stack(recent).mean())
