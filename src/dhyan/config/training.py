"""The recipe's section [training]: optimizer, schedules, validation, checkpoints."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dhyan.config.setting_declaration import setting


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model is trained; a step is one update of the weights."""

    init_from: str = setting("", "Fine-tuning: folder of the trained model to start from.")
    init_vocabulary: Literal["keep", "extend", "new"] = setting(
        "keep", "Fine-tuning: keep that model's vocabularies, extend them, or learn new ones.",
        only_with="init_from",
    )  # fmt: skip
    steps: int = setting(10_000, "Length of the training.", low=1, unit="steps")
    tokens_per_batch: int = setting(
        4096, "Batch size with padding, of the longer side; 0 for the largest that fits.",
        low=0, unit="tokens",
    )  # fmt: skip
    gradient_accumulation: int = setting(1, "Gradient accumulation: batches per step.", low=1)
    optimizer: Literal["adam", "adamw", "sgd"] = setting("adam", "Optimizer.")
    learning_rate: float = setting(1e-3, "Learning rate after warmup.", low=1e-12)
    betas: tuple[float, ...] = setting(
        (0.9, 0.98),
        "Adam's decay rates (Kingma and Ba, 2015).",
        low=0.0,
        high=0.9999999,
        lengths=(2,),
    )
    weight_decay: float = setting(0.0, "Weight decay.", low=0.0)
    schedule: Literal["constant", "inverse_sqrt", "halving", "cosine", "plateau"] = setting(
        "constant", "Learning rate schedule."
    )
    warmup_steps: int = setting(0, "Linear warmup of the learning rate.", low=0, unit="steps")
    halve_from: int = setting(
        0, "Halving schedule: first halving.", low=0, unit="steps", only_with="schedule=halving"
    )
    halve_every: int = setting(
        0, "Halving schedule: interval.", low=0, unit="steps",
        only_with="schedule=halving",
    )  # fmt: skip
    min_learning_rate_ratio: float = setting(
        0.0, "Cosine and plateau schedule: lowest learning rate as a share of learning_rate.",
        low=0.0, high=1.0, only_with="schedule=cosine|plateau",
    )  # fmt: skip
    plateau_factor: float = setting(
        0.5, "Plateau schedule: factor of the learning rate.", low=1e-6, high=0.999999,
        only_with="schedule=plateau",
    )  # fmt: skip
    plateau_patience: int = setting(
        2, "Plateau schedule: validations without improvement.", low=1,
        only_with="schedule=plateau",
    )  # fmt: skip
    clip_norm: float = setting(1.0, "Gradient clipping: largest global norm.", low=1e-12)
    label_smoothing: float = setting(
        0.1, "Label smoothing (Szegedy et al., 2016).", low=0.0, high=0.99
    )
    ema_decay: float = setting(
        0.0, "Decay of an exponential moving average of the weights, which is validated and saved; "
        "0 for none.", low=0.0, high=0.9999999,
    )  # fmt: skip
    r_drop: float = setting(
        0.0, "R-Drop (Liang et al., 2021): weight of the divergence of two dropout passes.", low=0.0
    )
    teacher_forcing_schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = (
        setting("constant", "Scheduled sampling (Bengio et al., 2015): decay of teacher forcing.")
    )
    teacher_forcing: float = setting(
        1.0, "Teacher forcing: first probability to feed the reference token.", low=0.0, high=1.0,
        only_with="teacher_forcing_schedule=constant|linear",
    )  # fmt: skip
    teacher_forcing_slope: float = setting(
        0.0, "Scheduled sampling, linear: fall of the probability per step.", low=0.0,
        only_with="teacher_forcing_schedule=linear",
    )  # fmt: skip
    teacher_forcing_k: float = setting(
        1.0, "Scheduled sampling: k of the exponential and inverse sigmoid decay.", low=0.0,
        only_with="teacher_forcing_schedule=exponential|inverse_sigmoid",
    )  # fmt: skip
    teacher_forcing_min: float = setting(
        0.0, "Scheduled sampling, linear: lowest probability.", low=0.0, high=1.0,
        only_with="teacher_forcing_schedule=linear",
    )  # fmt: skip
    precision: Literal["fp32", "bf16"] = setting(
        "fp32", "Precision: single, or mixed with bfloat16."
    )
    kernels: Literal["auto", "reference"] = setting(
        "auto", "Kernels: fused where possible, or the reference definitions alone."
    )
    deterministic: bool = setting(
        False, "Deterministic algorithms: a GPU repeats a run bit for bit, as a CPU does anyway."
    )
    validate_every: int = setting(500, "Validation interval.", low=1, unit="steps")
    valid_sentences: int = setting(
        200, "Validation sentences that are translated and scored; 0 for the loss alone.", low=0
    )
    save_every: int = setting(500, "Checkpoint interval.", low=1, unit="steps")
    keep_checkpoints: int = setting(2, "Newest checkpoints to keep, beside the best.", low=1)
    early_stopping_metric: Literal["loss", "bleu", "chrf"] = setting(
        "loss", "Early stopping: metric that chooses the best checkpoint."
    )
    patience: int = setting(
        0,
        "Early stopping: validations without improvement; 0 for never.",
        low=0,
    )
    report_every: int = setting(10, "Report interval.", low=1, unit="steps")
    tensorboard: bool = setting(False, "TensorBoard: write the metrics for it.")
    seed: int = setting(1, "Random seed of weights, order and dropout.", low=0)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        if self.schedule == "halving" and not self.halve_every:
            yield "halve_every", "the schedule 'halving' needs it; give at least 1"
        if self.schedule == "cosine" and self.warmup_steps >= self.steps:
            yield (
                "warmup_steps",
                f"{self.warmup_steps:,} steps leave nothing of training.steps = {self.steps:,} for "
                f"the cosine; give fewer",
            )
        if self.early_stopping_metric != "loss" and not self.valid_sentences:
            yield (
                "early_stopping_metric",
                f"{self.early_stopping_metric!r} needs valid_sentences above 0",
            )
        yield from self._schedule_without_decay()

    def _schedule_without_decay(self) -> Iterator[tuple[str, str]]:
        """Scheduled sampling with a parameter that does not make it decay."""
        k = self.teacher_forcing_k
        match self.teacher_forcing_schedule:
            case "linear" if not self.teacher_forcing_slope:
                yield "teacher_forcing_slope", "with 0 the probability never falls; give more"
            case "exponential" if k >= 1:
                yield "teacher_forcing_k", f"{k:g} ** step never falls; give less than 1"
            case "inverse_sigmoid" if k < 1:
                yield "teacher_forcing_k", f"{k:g} is too small for inverse_sigmoid; give 1 or more"
