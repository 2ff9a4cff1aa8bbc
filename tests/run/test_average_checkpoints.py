"""One model from several checkpoints."""

import shutil

import pytest
import torch

import dhyan
from dhyan.checkpoint import read_checkpoint, steps_in, tensors_from_bytes
from dhyan.cli.average import average as average_command
from dhyan.cli.info import info
from dhyan.data.training_sentences import TRAINING_SENTENCES
from dhyan.errors import UserError
from dhyan.model_check import read_training_sentences
from dhyan.run import train
from dhyan.run.average_checkpoints import average, mean, newest
from tests.model_check.valid_model import rewrite_manifest
from tests.tiny_models import tiny_recipe, write_corpus


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("average") / "run"
    settings = {"training.keep_checkpoints": 99, "training.steps": 6}
    list(train(tiny_recipe("rnn", *files, **settings), out, threads=1))
    return out


def weights(folder):
    return tensors_from_bytes(read_checkpoint(folder)["model.safetensors"])


def test_the_mean_is_exact():
    first, second = {"w": torch.tensor([1.0, 1e8])}, {"w": torch.tensor([2.0, 1.0])}
    average_weight = mean([first, second, second])["w"]
    assert average_weight.dtype == torch.float32
    assert average_weight.tolist() == torch.tensor([5 / 3, (1e8 + 2) / 3]).tolist()


def test_the_mean_of_a_model_with_itself_is_that_model(run, tmp_path):
    shutil.copytree(run / "step-6", tmp_path / "copy")
    folder = average([run / "step-6", tmp_path / "copy"], tmp_path / "out")
    for name, weight in weights(folder).items():
        assert torch.equal(weight, weights(run / "step-6")[name])


def test_an_average_knows_the_sentences_of_all_its_models(run, tmp_path):
    folder = average(newest(run, 2), tmp_path / "known")
    assert len(read_training_sentences(folder)) == len(read_training_sentences(run)) > 0
    shutil.copytree(run / "step-4", tmp_path / "unknown")
    (tmp_path / "unknown" / TRAINING_SENTENCES).unlink()
    rewrite_manifest(tmp_path / "unknown", step=4)
    folder = average([run / "step-6", tmp_path / "unknown"], tmp_path / "out")
    assert read_training_sentences(folder) is None


def test_an_average_can_be_loaded_and_is_the_mean_of_the_newest(run, files, tmp_path):
    folders = newest(run, 3)
    assert [folder.name for folder in folders] == ["step-6", "step-4", "step-2"]
    average(folders, tmp_path / "out")
    model = dhyan.load(tmp_path / "out").model
    parts = [weights(folder) for folder in folders]
    for name, weight in model.named_parameters():
        expected = sum(part[name].double() for part in parts) / 3
        torch.testing.assert_close(weight.detach().double(), expected, atol=1e-7, rtol=1e-6)
    fine_tuning = tiny_recipe(
        "rnn", *files, **{"training.init_from": str(tmp_path / "out"), "training.steps": 2}
    )
    list(train(fine_tuning, tmp_path / "tuned", threads=1))


def test_the_command_writes_a_model_that_other_commands_load(run, tmp_path, capsys):
    out = tmp_path / "out"
    average_command([run], out=out, last=2)
    assert "step-6  the mean of step-6, step-4\n" in capsys.readouterr().out
    info(out)
    assert "step        6" in capsys.readouterr().out
    assert dhyan.load(out)(["five"])
    average_command([run / "step-2", run / "step-4"], out=tmp_path / "other")
    assert steps_in(tmp_path / "other") == [4]


def test_models_that_cannot_be_averaged_are_refused(run, files, tmp_path):
    with pytest.raises(
        UserError, match="holds 3 trained checkpoints, not 9; .*training.keep_checkpoints"
    ):
        newest(run, 9)
    with pytest.raises(UserError, match="needs two checkpoints or more"):
        average([run], tmp_path / "out")
    with pytest.raises(UserError, match="holds a model already"):
        average([run / "step-2", run / "step-4"], run)
    with pytest.raises(UserError, match="step-6 holds a model already"):
        average([run / "step-2", run / "step-4"], run / "step-6")
    with pytest.raises(UserError, match="step-6/mean lies inside a model"):
        average([run / "step-2", run / "step-4"], run / "step-6" / "mean")
    for twice in (run / "step-2", run / "step-4" / ".." / "step-2"):
        with pytest.raises(UserError, match="step-2 is named twice"):
            average([run / "step-2", run / "step-4", twice], tmp_path / "out")
    read_checkpoint(run / "step-6")
    other = tmp_path / "seed"
    settings = {"training.seed": 2, "training.steps": 2, "training.keep_checkpoints": 99}
    list(train(tiny_recipe("rnn", *files, **settings), other, threads=1))
    with pytest.raises(
        UserError, match=r"other random weights, training.seed 1 and 2; name .* training.init_from"
    ):
        average([run / "step-2", other / "step-2"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_vocabularies_are_refused(run, files, tmp_path):
    other = tmp_path / "words"
    few = write_corpus(tmp_path, pairs=300)
    settings = {"training.steps": 6, "training.keep_checkpoints": 99}
    list(train(tiny_recipe("rnn", *few, **settings), other, threads=1))
    with pytest.raises(
        UserError, match="source vocabularies differ; name .*init_vocabulary': 'keep'"
    ):
        average([run / "step-2", other / "step-2"], tmp_path / "out")


def test_the_checkpoint_of_step_0_is_never_averaged(run, tmp_path, capsys):
    assert "step-0" not in [folder.name for folder in newest(run, 3)]
    with pytest.raises(UserError, match="holds 3 trained checkpoints, not 4"):
        newest(run, 4)
    with pytest.raises(UserError, match="step-0 is a run's start, before any training"):
        average([run / "step-2", run / "step-0"], tmp_path / "out")
    average_command([run / "step-4", run / "step-2"], out=tmp_path / "out")
    output = capsys.readouterr().out
    assert f"the mean of {run / 'step-4'}, {run / 'step-2'}" in output


def test_a_folder_that_is_not_a_run_is_named(run, tmp_path):
    with pytest.raises(UserError, match="nowhere: no such folder"):
        newest(tmp_path / "nowhere", 2)
    with pytest.raises(
        UserError, match=r"step-6: is one checkpoint; last takes the folder of a run"
    ):
        newest(run / "step-6", 2)


def test_models_fine_tuned_from_the_same_can_be_averaged(run, files, tmp_path):
    for seed in (3, 4):
        settings = {"training.init_from": str(run), "training.seed": seed, "training.steps": 2}
        tuned = tiny_recipe("rnn", *files, **settings, **{"encoder.dropout": seed / 10})
        list(train(tuned, tmp_path / str(seed), threads=1))
    folder = average([tmp_path / "3" / "step-2", tmp_path / "4" / "step-2"], tmp_path / "out")
    assert dhyan.load(folder)(["five"])
    average([run / "step-6", tmp_path / "4" / "step-2"], tmp_path / "with the first")


def test_other_architectures_are_refused_by_their_setting(run, files, tmp_path):
    settings = {"training.steps": 2, "training.keep_checkpoints": 99, "encoder.width": 12}
    list(train(tiny_recipe("rnn", *files, **settings), tmp_path / "wide", threads=1))
    with pytest.raises(
        UserError, match=r"encoder\.width is \d+ in the one and 12 in the other; name"
    ):
        average([run / "step-2", tmp_path / "wide" / "step-2"], tmp_path / "out")


def test_an_average_cannot_be_resumed(run, files, tmp_path):
    out = tmp_path / "mean"
    average(newest(run, 2), out)
    recipe = tiny_recipe("rnn", *files, **{"training.keep_checkpoints": 99, "training.steps": 8})
    with pytest.raises(
        UserError, match="average of 2 models and cannot be resumed: .*'training.init_from'"
    ):
        train(recipe, out, resume=True)
    assert dhyan.load(out)(["five"])


def test_last_takes_a_single_run(run, tmp_path):
    with pytest.raises(UserError, match="--last 2 is for one run, and 2 models are named"):
        average_command([run, run], out=tmp_path / "out", last=2)
