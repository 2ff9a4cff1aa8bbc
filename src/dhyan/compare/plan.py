"""Plan of a comparison: recipes with the same data, seed and decoding, scaled to a common size."""

import json
import logging
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain
from itertools import count as count_from
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import check_writable, to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.compare.budget import Budget
from dhyan.compare.equal_parameters import Count, parameter_counter, scale_to_budget
from dhyan.compare.shared_corpus import open_shared, prepare_shared
from dhyan.compare.test_sets import EvaluationOptions, write_tests
from dhyan.config import Recipe, differences, dump_recipe, parse_recipe
from dhyan.errors import UserError, spell_option
from dhyan.run.resume_checks import check_recipe_builds
from dhyan.tasks import with_task

logger = logging.getLogger(__name__)

FILE = "plan.json"
RESERVED = {"pairs", "corpus", "figures"}
# Keys of `training`; rate, schedule and optimizer stay the recipe's own.
SHARED = (
    *("seed", "tokens_per_batch", "gradient_accumulation", "label_smoothing"),
    *("early_stopping_metric", "valid_sentences"),
)
VALIDATIONS = 10  # of a run whose steps are known


@dataclass(frozen=True)
class Candidate:
    """A recipe to compare, with its name and description."""

    name: str
    recipe: Recipe
    about: str = ""


def name_candidates(recipes: Sequence[tuple[str, Recipe]]) -> list[Candidate]:
    """Candidates named after their recipes; a repeated name becomes `name-2` and so on."""
    candidates: dict[str, Candidate] = {}
    for name, recipe in recipes:
        names = chain([name], (f"{name}-{number}" for number in count_from(2)))
        unused = next(option for option in names if option not in candidates)
        candidates[unused] = Candidate(unused, recipe, recipe.about)
    return list(candidates.values())


def control_recipes(candidates: Sequence[Candidate], budget: Budget) -> list[Candidate]:
    """The candidates with the data, vocabulary, batches, seed and decoding options of the first."""
    _check(candidates, budget)
    candidates = [replace(each, recipe=with_task(each.recipe)) for each in candidates]
    first = candidates[0].recipe
    every = max(1, budget.steps // VALIDATIONS)
    if budget.seconds:
        every = first.training.validate_every
    shared: dict[str, Any] = {key: getattr(first.training, key) for key in SHARED}
    shared |= {"steps": budget.last_step, "validate_every": every, "save_every": every}
    controlled = []
    for candidate in candidates:
        training = replace(candidate.recipe.training, **shared, patience=0, keep_checkpoints=1)
        recipe = replace(
            candidate.recipe,
            data=first.data,
            text=first.text,
            training=training,
            decoding=first.decoding,
        )
        controlled.append(replace(candidate, recipe=recipe))
    return controlled


def _check(candidates: Sequence[Candidate], budget: Budget) -> None:
    """Refuse settings that make the comparison unfair or cannot follow the budget."""
    task = candidates[0].recipe.task
    for candidate in candidates:
        training = candidate.recipe.training
        if candidate.recipe.task != task:
            raise UserError(
                f"{candidate.name}: its task is {candidate.recipe.task!r}, that of "
                f"{candidates[0].name} is {task!r}; compare models of one task"
            )
        if training.init_from:
            raise UserError(
                f"{candidate.name}: training.init_from = {training.init_from!r} starts from a trained "
                f"model; in a comparison all models start from scratch"
            )
        if training.schedule == "cosine" and budget.seconds:
            raise UserError(
                f"{candidate.name}: a cosine schedule needs a number of steps, not a time; give "
                f"--budget in steps, or --set training.schedule=inverse_sqrt"
            )
    if not candidates[0].recipe.training.tokens_per_batch:
        raise UserError("training.tokens_per_batch = 0 chooses one per model; set one for all")


@dataclass(frozen=True)
class Entry:
    """A model to train: its scaled recipe and number of parameters."""

    name: str
    recipe: Recipe
    parameters: int
    about: str = ""


@dataclass(frozen=True)
class Plan:
    """The models compared in a folder; `parameters` is the size that recipes are scaled to."""

    folder: Path
    entries: tuple[Entry, ...]
    budget: Budget
    parameters: int

    def run_folder(self, entry: Entry) -> Path:
        """The run folder of an entry."""
        return self.folder / entry.name

    def entry(self, name: str) -> Entry:
        """The entry of a name."""
        return next(entry for entry in self.entries if entry.name == name)


@dataclass(frozen=True)
class PlanRequest:
    """Everything that determines the plan: candidates, budget, parameters and test sets."""

    candidates: tuple[Candidate, ...]
    budget: Budget
    parameters: int
    tests: EvaluationOptions = EvaluationOptions()


def write_plan(plan: Plan, request: PlanRequest) -> None:
    """Write the plan, and the request it follows from, to its folder."""
    entries = [
        {
            "name": entry.name,
            "about": entry.about,
            "parameters": entry.parameters,
            "requested": dump_recipe(candidate.recipe),
            "recipe": dump_recipe(entry.recipe),
        }
        for entry, candidate in zip(plan.entries, request.candidates, strict=True)
    ]
    facts = {
        "budget": asdict(plan.budget),
        "parameters": plan.parameters,
        "requested": {"parameters": request.parameters, "tests": _plain(request.tests)},
        "entries": entries,
    }
    replace_file(plan.folder / FILE, to_json_bytes(facts))


def read_plan(folder: Path, request: PlanRequest | None = None) -> Plan | None:
    """The plan in a folder, if there is one; a plan for another request is refused."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
        entries = [
            Entry(entry["name"], _recipe(entry["recipe"]), entry["parameters"], entry["about"])
            for entry in parts["entries"]
        ]
        plan = Plan(folder, tuple(entries), Budget(**parts["budget"]), parts["parameters"])
    except (ValueError, KeyError, TypeError):
        raise UserError(
            f"{path}: not a plan that this version can read; name another {spell_option('out')}"
        ) from None
    if request:
        _check_same(folder, parts, request)
    return plan


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are folders of the comparison itself."""
    for name in names:
        if name in RESERVED:
            raise UserError(
                f"{name!r} is a folder of the comparison itself: call the recipe otherwise"
            )


def _check_same(folder: Path, parts: Mapping[str, Any], request: PlanRequest) -> None:
    """Refuse to resume with a request that differs from the one in the folder."""
    before = [entry["name"] for entry in parts["entries"]]
    now = [candidate.name for candidate in request.candidates]
    differing: list[tuple[str, object, object]] = [
        ("the models", ", ".join(before), ", ".join(now)),
        ("--budget", str(Budget(**parts["budget"])), str(request.budget)),
        ("--parameters", parts["requested"]["parameters"] or "none", request.parameters or "none"),
        ("the tests", parts["requested"]["tests"], _plain(request.tests)),
    ]
    for candidate, entry in zip(request.candidates, parts["entries"], strict=False):
        before_recipe = _without_description(_recipe(entry["requested"]))
        changed = differences(before_recipe, _without_description(candidate.recipe))
        differing += [(f"{candidate.name}: {key}", *values) for key, values in changed.items()]
    for what, old, new in differing:
        if old != new:
            raise UserError(
                f"{folder} compares something else: {what}: {old} before, {new} now; give the same "
                f"again, or another {spell_option('out')}"
            )


def _without_description(recipe: Recipe) -> Recipe:
    return replace(recipe, about="")


def _plain(options: EvaluationOptions) -> Any:
    return json.loads(json.dumps(asdict(options)))


def _recipe(text: str) -> Recipe:
    return parse_recipe(tomllib.loads(text), place="the plan")


def make_plan(request: PlanRequest, folder: Path) -> Plan:
    """The plan in the folder if it is for the same request, else a new one."""
    check_writable(folder)
    check_names([candidate.name for candidate in request.candidates])
    request.tests.check()
    if plan := read_plan(folder, request):
        return plan
    own_tests = request.tests.of_files() if request.tests.source else None
    candidates = control_recipes(request.candidates, request.budget)
    for candidate in candidates:
        with _prefix_errors(candidate.name):
            check_recipe_builds(candidate.recipe)
    folder.mkdir(parents=True, exist_ok=True)
    shared = prepare_shared(candidates[0].recipe, folder)
    candidates = [
        replace(candidate, recipe=replace(candidate.recipe, data=shared.data))
        for candidate in candidates
    ]
    corpus = open_shared(shared)
    first = request.candidates[0].recipe
    write_tests(own_tests or request.tests.of_pairs(first, corpus), folder)
    count = parameter_counter(*map(len, corpus.tokenizers))
    entries, size = scale_candidates(candidates, request.parameters, count)
    for entry in entries:
        logger.info(f"{entry.name}: {entry.parameters:,} parameters of {size:,} allowed")
    plan = Plan(folder, tuple(entries), request.budget, size)
    write_plan(plan, request)
    return plan


def scale_candidates(
    candidates: list[Candidate], parameters: int, count: Count
) -> tuple[list[Entry], int]:
    """Every model scaled to one size, and that size: by default that of the smallest."""
    size = parameters or min(count(candidate.recipe) for candidate in candidates)
    entries = []
    for candidate in candidates:
        with _prefix_errors(candidate.name):
            recipe = scale_to_budget(candidate.recipe, size, count)
            entries.append(Entry(candidate.name, recipe, count(recipe), candidate.about))
    return entries, size


@contextmanager
def _prefix_errors(name: str) -> Iterator[None]:
    """Put the name of a candidate before the errors raised in the block."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
