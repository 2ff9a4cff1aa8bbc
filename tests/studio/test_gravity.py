"""The words of a sentence in the plane: of the notes' toy, and of every kind of model."""

import json
import shutil
import subprocess

import pytest
import torch

from dhyan.lessons.self_attention.gravity import gravity
from dhyan.run import load
from dhyan.studio.routes.gravity import pulled
from dhyan.studio.static_files import STATIC

TEXT = "Anil sends the money to Ravi."


def asked(client, model, text=TEXT):
    return client.post("/api/gravity", json={"text": text, "model": model})


def test_a_transformers_layers_are_drawn_on_the_axes_of_its_embeddings(client):
    found = asked(client, "transformer").json()
    assert found["axes"] == "shared"
    assert found["words"] == ["Anil", "sends", "the", "money", "to", "Ravi", "."]
    assert len(found["stages"]) == 3
    for stage in found["stages"]:
        assert len(stage["places"]) == 7
        assert 0 < sum(stage["explained"]) <= 1 + 1e-9
    first, second = found["stages"][0]["explained"]
    assert first >= second
    assert all(far > 0 for far in found["moved"])


def test_places_are_projections_and_so_never_further_apart_than_the_vectors(models):
    translator = load(models[3], device="cpu")
    found = pulled(translator, TEXT)
    ids = translator.encode(TEXT)
    words = translator.model.encoder.token_embedding(torch.tensor(ids[:-1]))
    static = words * words.shape[1] ** 0.5
    places = torch.tensor(found.stages[0].places)
    assert (torch.cdist(places, places) <= torch.cdist(static, static) + 1e-4).all()
    ends = torch.tensor(found.stages[-1].places)
    assert ((ends - places).norm(dim=1) <= torch.tensor(found.moved) + 1e-4).all()


def test_the_shares_are_those_of_a_principal_component_analysis(models):
    translator = load(models[1], device="cpu")
    found = pulled(translator, TEXT)
    ids = translator.encode(TEXT)
    static = translator.model.encoder.token_embedding(torch.tensor(ids[:-1])).double()
    spread = torch.linalg.svdvals(static - static.mean(0)).square()
    shares = (spread / spread.sum())[:2].tolist()
    assert found.stages[0].explained == pytest.approx(shares, rel=1e-5)


@pytest.mark.parametrize("model", ["bottleneck", "bahdanau", "luong"])
def test_a_recurrent_encoder_has_states_in_a_space_of_their_own(client, model):
    found = asked(client, model).json()
    assert (found["axes"], found["moved"], len(found["stages"])) == ("own", [], 2)


@pytest.mark.parametrize("text", ["", "Hello", "the the the the"])
def test_words_that_span_no_plane_are_refused_in_words(client, text):
    answer = asked(client, "transformer", text)
    assert answer.status_code == 400
    assert "plane" in answer.json()["error"]["message"]


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_toy_has_the_numbers_of_the_lesson(tmp_path):
    """The notes' drawing: bank to [7.6, 3.8], from 8.06 to 6.45; softmax gives it at T = 0.37."""
    toy = f"{STATIC}/js/views/gravity-toy.js"
    script = tmp_path / "toy.mjs"
    script.write_text(
        f'import {{ pulled, far, weightsOf, PLACES }} from "{toy}";\n'
        "const two = [PLACES.money, PLACES.bank];\n"
        "const end = pulled(two, { layers: 1, temperature: 1, drawn: true }).stages[1][1];\n"
        "console.log(JSON.stringify([end, far(two[1], two[0]), far(end, two[0]),"
        " weightsOf(two, 0.37)[1]]));\n"
    )
    done = subprocess.run(["node", script], capture_output=True, text=True, check=True)
    end, before, after, weights = json.loads(done.stdout)
    lesson = gravity().first
    assert end == pytest.approx(lesson.after.tolist())
    assert end == pytest.approx([7.6, 3.8])
    assert (before, after) == (
        pytest.approx(float(lesson.far_before[0])),
        pytest.approx(float(lesson.far_after[0])),
    )
    assert (round(before, 2), round(after, 2)) == (8.06, 6.45)
    two = torch.tensor([[0.2, 0.7], [0.9, 0.3]], dtype=torch.float64)
    assert weights == pytest.approx((two @ two.T / 0.37).softmax(1)[1].tolist())
    assert [round(one, 1) for one in weights] == [0.2, 0.8]
