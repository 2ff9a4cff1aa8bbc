"""The report of a sweep: its trials, the best first, and what mattered."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dhyan.atomic_folder import to_json_bytes
from dhyan.sweep.run import Sweep
from dhyan.training.state import lower_is_better

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

MIN_TRIALS = 4  # complete ones, before anything is said about importance
REPORT, REPORT_DATA = "report.md", "report.json"


def write_report(sweep: Sweep) -> Path:
    """Write the report into the sweep's folder, as Markdown and as JSON."""
    path = sweep.folder / REPORT
    path.write_text("".join(f"{line}\n" for line in _lines(sweep)), encoding="utf-8")
    trials = [
        {
            "number": trial.number,
            "state": _state(trial),
            "best": trial.user_attrs.get("best"),
            "settings": trial.params,
            "validations": trial.intermediate_values,
            "reason": trial.user_attrs.get("reason", ""),
        }
        for trial in sweep.study.get_trials(deepcopy=False)
    ]
    data = {"metric": sweep.metric, "importances": importances(sweep), "trials": trials}
    (sweep.folder / REPORT_DATA).write_bytes(to_json_bytes(data))
    return path


def importances(sweep: Sweep) -> dict[str, float]:
    """How much each setting decided about good scores (PED-ANOVA; Watanabe et al., 2023).

    The shares add up to one; there are none before four complete trials.
    """
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    complete = [trial for trial in ranked(sweep) if _state(trial) == "complete"]
    if len(complete) < MIN_TRIALS or len({trial.value for trial in complete}) < 2:
        return {}
    evaluator = PedAnovaImportanceEvaluator()
    return {
        key: round(float(share), 3)
        for key, share in get_param_importances(sweep.study, evaluator=evaluator).items()
    }


def ranked(sweep: Sweep) -> "list[FrozenTrial]":
    """The trials that ended: complete ones by score, then pruned ones, then failed ones."""
    sign = 1 if lower_is_better(sweep.metric) else -1
    order = ("complete", "pruned", "failed")
    ended = [trial for trial in sweep.study.get_trials(deepcopy=False) if trial.state.is_finished()]
    return sorted(
        ended,
        key=lambda trial: (order.index(_state(trial)), sign * trial.user_attrs.get("best", 0.0)),
    )


def _lines(sweep: Sweep) -> Iterator[str]:
    trials = ranked(sweep)
    keys = [dimension.key for dimension in sweep.space]
    yield f"# Sweep {sweep.folder.name}"
    yield ""
    counts = {state: sum(_state(trial) == state for trial in trials) for state in STATES}
    yield f"{', '.join(f'{count:,} {state}' for state, count in counts.items())}."
    best = trials[0] if trials and _state(trials[0]) == "complete" else None
    if best:
        folder = shlex.quote(str(sweep.trial_folder(best.number)))
        yield f"Best: trial {best.number}, {sweep.metric} {best.user_attrs['best']:.4g}; `{folder}`."
    yield ""
    shares = importances(sweep)
    if shares:
        yield "| what mattered | share |"
        yield "|---|--:|"
        yield from (f"| {key} | {share:.0%} |" for key, share in shares.items())
    else:
        yield f"What mattered is said after {MIN_TRIALS} complete trials."
    yield ""
    yield f"| trial | {sweep.metric} | {' | '.join(keys)} | state |"
    yield f"|--:|--:|{'--:|' * len(keys)}---|"
    for trial in trials:
        score = trial.user_attrs.get("best")
        values = " | ".join(_format(trial.params.get(key, "")) for key in keys)
        reason = trial.user_attrs.get("reason", "").replace("|", "\\|")
        state = _state(trial) + (f": {reason}" if reason else "")
        yield f"| {trial.number} | {'' if score is None else f'{score:.4g}'} | {values} | {state} |"


STATES = {"complete": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}


def _state(trial: "FrozenTrial") -> str:
    return next((name for name, theirs in STATES.items() if trial.state.name == theirs), "running")


def _format(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
