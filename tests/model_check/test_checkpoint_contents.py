"""A model's weights are compared with what its recipe builds, and its limits with the settings."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dhyan import config
from dhyan.config import load_recipe, shipped_recipes
from dhyan.config.declare_settings import settings_of
from dhyan.errors import UserError
from dhyan.model_check import read_model
from dhyan.model_check.checkpoint_contents import (
    MAX_WIDTH,
    TENSORS_PER_LAYER,
    check_header,
    check_train_state,
    weight_shapes,
)
from dhyan.safe_io.safetensors_header import Header, TensorEntry
from dhyan.training.state import TrainState
from tests.laws.family import DECODERS, ENCODERS, MODELS
from tests.model_check.valid_model import model_files, write_model
from tests.tiny_models import environment

SIZES = (14, 17)


def recipe_of(encoder, decoder):
    return config.Recipe(
        encoder=ENCODERS[encoder],
        decoder=DECODERS[decoder],
        data=config.Data(max_tokens=40),
        text=config.Text(shared_vocabulary=True),
    )


def header_of(shapes):
    """A header that lists weights of these shapes, whatever their bytes."""
    return Header({name: TensorEntry("F32", shape, 0, 0) for name, shape in shapes.items()}, 0)


LOADING = """
import sys
from pathlib import Path
from dhyan.config import load_recipe, shipped_recipes
from dhyan.model_check.checkpoint_contents import weight_shapes
from dhyan.run.load import load
from tests.laws.family import MODELS
from tests.model_check.test_checkpoint_contents import SIZES, recipe_of
from tests.model_check.valid_model import model_files, write_model

def check(model):
    for module in ("torch._dynamo", "sympy"):
        if module in sys.modules:
            sys.exit(f"{model} imports {module}")

for family in ("rnn", "transformer"):
    folder = Path(sys.argv[1], family)
    write_model(folder, model_files(family))
    load(folder, device="cpu")(["the girl reads"])
    check(family)
for recipe in shipped_recipes():
    weight_shapes(load_recipe(recipe), SIZES)
    check(recipe)
for encoder, decoder in MODELS:
    weight_shapes(recipe_of(encoder, decoder), SIZES)
    check(f"{encoder} with {decoder}")
"""


def test_loading_a_model_does_not_import_the_compiler(tmp_path):
    """Importing torch._dynamo and sympy takes more than a second."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", LOADING, tmp_path]
    process = subprocess.run(command, cwd=root, env=environment(), capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()


@pytest.mark.parametrize(("encoder", "decoder"), MODELS[::3])
def test_no_check_before_building_refuses_a_model_of_the_family(encoder, decoder):
    recipe = recipe_of(encoder, decoder)
    check_header(recipe, header_of(weight_shapes(recipe, SIZES)))


@pytest.mark.parametrize("name", shipped_recipes())
def test_no_check_before_building_refuses_a_shipped_recipe(name):
    recipe = load_recipe(name)
    check_header(recipe, header_of(weight_shapes(recipe, SIZES)))


@pytest.mark.parametrize("family", ["rnn", "transformer"])
def test_each_layer_has_the_least_number_of_tensors(family):
    recipe = load_recipe(
        {"rnn": "bahdanau2015-small", "transformer": "transformer2017-small"}[family]
    )
    deeper = replace(recipe, encoder=replace(recipe.encoder, layers=recipe.encoder.layers + 1))
    added = len(weight_shapes(deeper, SIZES)) - len(weight_shapes(recipe, SIZES))
    assert added >= TENSORS_PER_LAYER


@pytest.mark.parametrize("family", ["rnn", "transformer"])
def test_a_valid_model_of_each_family_is_read(tmp_path, family):
    write_model(tmp_path / "run", model_files(family))
    assert read_model(tmp_path / "run").recipe.encoder.kind == family


def test_a_width_beyond_the_number_of_weights_is_refused():
    recipe = load_recipe("bahdanau2015-small")
    header = header_of(weight_shapes(recipe, SIZES))
    wide = replace(recipe, encoder=replace(recipe.encoder, width=MAX_WIDTH + 1))
    with pytest.raises(
        UserError, match=r"encoder\.width is 1,000,001, and there are [\d,]+ weights"
    ):
        check_header(wide, header)


def test_a_model_too_large_for_any_memory_is_refused():
    recipe = load_recipe("bahdanau2015-small")
    vast = replace(recipe, encoder=replace(recipe.encoder, width=2**40))
    with pytest.raises(UserError, match="cannot be built"):
        weight_shapes(vast, SIZES)


def test_every_field_of_the_train_state_is_checked():
    state = asdict(
        TrainState(
            step=3, best_step=2, best_score=1.5, best_scheduled_score=2.5, scores={"loss": 2.5}
        )
    )
    check_train_state(json.loads(json.dumps(state)), 3)
    for name in state:
        with pytest.raises(UserError):
            check_train_state({**state, name: "text"}, 3)


@pytest.mark.parametrize("section", ["decoding", "data"])
def test_every_whole_number_of_decoding_and_data_has_an_upper_bound(section):
    recipe = load_recipe("bahdanau2015-small")
    for name, setting in settings_of(getattr(recipe, section)).items():
        if setting.type is int and name != "seed":
            assert setting.high < 2**40, f"{section}.{name}"
            settings = replace(getattr(recipe, section), **{name: setting.high + 1})
            with pytest.raises(UserError, match=f"{section}.{name}: .* too large"):
                replace(recipe, **{section: settings}).check()


@pytest.mark.parametrize(
    "kind", [*ENCODERS.values(), *DECODERS.values()], ids=lambda half: half.kind
)
def test_the_number_of_layers_has_an_upper_bound(kind):
    assert settings_of(kind)["layers"].high <= 1000
