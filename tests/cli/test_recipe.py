"""The recipe of a command: its name, its options and the values of --set."""

import pytest

from dhyan.cli.average import average
from dhyan.cli.recipe import override_recipe
from dhyan.cli.recipe import recipe as print_recipe
from dhyan.cli.train import train as command
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.run import train
from tests.tiny_models import tiny_recipe, write_corpus


@pytest.mark.parametrize(
    ("overrides", "options", "message"),
    [
        (["training.seed=6"], {"training.seed": 5}, "--seed and --set training.seed"),
        (["training.seed=6"], {"training.seed": 0}, "--seed and --set training.seed"),
        (["data.source=b"], {"data.source": "a"}, "--source and --set data.source"),
        (['data={source="b"}'], {"data.source": "a"}, "--source and --set data"),
        (
            ["data.valid_source=b"],
            {"data.valid_source": "a"},
            "--valid-source and --set data.valid_source",
        ),
    ],
)
def test_a_key_given_twice_is_refused(overrides, options, message):
    with pytest.raises(UserError, match=f"^{message}: .* is given twice; leave one out"):
        override_recipe("bahdanau2015-small", overrides, options)


def test_an_option_that_was_not_given_overrides_nothing():
    not_given = {"training.seed": None, "data.source": "", "training.tensorboard": False}
    settings = ["training.seed=6", "data.source=b", "training.tensorboard=true"]
    chosen = override_recipe("bahdanau2015-small", settings, not_given)
    assert (chosen.training.seed, chosen.data.source) == (6, "b")
    assert chosen.training.tensorboard
    assert override_recipe("bahdanau2015-small", [], {"training.seed": 0}).training.seed == 0


@pytest.mark.parametrize("vocabulary", ["keep", "extend", "new"])
def test_init_vocabulary_needs_init_from(vocabulary):
    with pytest.raises(
        UserError, match=f"init.vocabulary.*{vocabulary}'? has no effect without init_from"
    ):
        override_recipe("bahdanau2015-small", [], {"training.init_vocabulary": vocabulary})


def test_without_a_recipe_and_a_model_to_start_from_there_is_none():
    with pytest.raises(UserError, match="^Missing argument 'RECIPE'; see dhyan train --help$"):
        command()


def test_a_missing_or_incomplete_recipe_is_an_error_with_the_next_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UserError, match="^mine.toml: no such file; 'dhyan recipe NAME' prints a complete"
    ):
        command("mine.toml")
    (tmp_path / "mine.toml").write_text('about = "half"\n')
    with pytest.raises(UserError, match=r"^mime.toml: no such file; did you mean 'mine.toml'\?"):
        command("mime.toml")
    with pytest.raises(
        UserError, match=r"\[encoder\] is missing; 'dhyan recipe NAME' prints a complete"
    ):
        command("mine.toml")
    (tmp_path / "mine.toml").write_text("[model]\nwidth = 3\n")
    with pytest.raises(
        UserError, match="unknown key 'model'; there are about, task, data, text, frames,"
    ):
        command("mine.toml")


def test_the_recipe_of_a_model_is_printed_as_it_was_saved(tmp_path, capsys):
    files = write_corpus(tmp_path)
    recipe = tiny_recipe("rnn", *files, **{"training.steps": 1, "training.seed": 9})
    list(train(recipe, tmp_path / "run", threads=1))
    print_recipe(str(tmp_path / "run"))
    (tmp_path / "printed.toml").write_text(capsys.readouterr().out)
    assert load_recipe(str(tmp_path / "printed.toml")) == load_recipe(
        str(tmp_path / "run" / "step-1" / "recipe.toml")
    )
    with pytest.raises(UserError, match="nomodel: no such folder"):
        average([tmp_path / "nomodel"], out=tmp_path / "out", last=2)
