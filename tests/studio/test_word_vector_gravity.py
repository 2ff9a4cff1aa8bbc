"""Word vectors in a plane: those of every kind of model, and the toy of the notes."""

import json
import re
import shutil
import subprocess
from math import dist

import pytest
import torch

from dhyan.lessons.self_attention.gravity import gravity
from dhyan.run import load
from dhyan.studio.page_files import STATIC
from dhyan.studio.routes.word_vector_gravity import project_words

TEXT = "Anil sends the money to Ravi."
BANKS = {  # the sentences that the lesson of the view speaks of, and the word beside bank
    "The bank of the river is far.": "river",
    "He put his money in the bank.": "money",
    "We sat on the bank of the river.": "river",
    "The bank gave me a loan.": "loan",
    "I took the money from the bank.": "money",
    "The boat is near the bank.": "boat",
    "The river has a green bank.": "river",
    "My bank is near the station.": "station",
}


def post(client, model, text=TEXT):
    return client.post("/api/gravity", json={"text": text, "model": model})


def test_a_transformers_layers_are_drawn_on_the_axes_of_its_embeddings(client):
    projection = post(client, "transformer").json()
    assert projection["axes"] == "shared"
    assert projection["words"] == ["Anil", "sends", "the", "money", "to", "Ravi", "."]
    assert len(projection["stages"]) == 3
    for stage in projection["stages"]:
        assert len(stage["positions"]) == 7
        assert 0 < sum(stage["explained_variance"]) <= 1 + 1e-9
    first, second = projection["stages"][0]["explained_variance"]
    assert first >= second
    assert all(distance > 0 for distance in projection["distances"])


def test_projections_are_never_further_apart_than_the_vectors(models):
    translator = load(models[3], device="cpu")
    projection = project_words(translator, TEXT)
    ids = translator.encode(TEXT)
    words = translator.model.encoder.token_embedding(torch.tensor(ids[:-1]))
    static = words * words.shape[1] ** 0.5
    positions = torch.tensor(projection.stages[0].positions)
    assert (torch.cdist(positions, positions) <= torch.cdist(static, static) + 1e-4).all()
    ends = torch.tensor(projection.stages[-1].positions)
    assert ((ends - positions).norm(dim=1) <= torch.tensor(projection.distances) + 1e-4).all()


def test_explained_variance_is_that_of_a_principal_component_analysis(models):
    translator = load(models[1], device="cpu")
    projection = project_words(translator, TEXT)
    ids = translator.encode(TEXT)
    static = translator.model.encoder.token_embedding(torch.tensor(ids[:-1])).double()
    spread = torch.linalg.svdvals(static - static.mean(0)).square()
    shares = (spread / spread.sum())[:2].tolist()
    assert projection.stages[0].explained_variance == pytest.approx(shares, rel=1e-5)


@pytest.mark.parametrize("model", ["bottleneck", "bahdanau", "luong"])
def test_a_recurrent_encoder_has_states_in_a_space_of_their_own(client, model):
    projection = post(client, model).json()
    assert (projection["axes"], projection["distances"], len(projection["stages"])) == (
        "separate",
        [],
        2,
    )


@pytest.mark.parametrize("text", ["", "Hello", "the the the the"])
def test_words_that_span_no_plane_are_refused(client, text):
    response = post(client, "transformer", text)
    assert response.status_code == 400
    assert "plane" in response.json()["error"]["message"]


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_toy_has_the_numbers_of_the_lesson(tmp_path):
    """The lecture notes: bank to [7.6, 3.8], from 8.06 to 6.45; softmax gives it at T = 0.37."""
    toy = f"{STATIC}/js/views/gravity/toy.js"
    script = tmp_path / "toy.mjs"
    script.write_text(
        f'import {{ applyLayers, distance, weightsOf, POINTS }} from "{toy}";\n'
        "const two = [POINTS.money, POINTS.bank];\n"
        "const end = applyLayers(two, { layers: 1, temperature: 1, fixed: true }).stages[1][1];\n"
        "console.log(JSON.stringify([end, distance(two[1], two[0]), distance(end, two[0]),"
        " weightsOf(two, 0.37)[1]]));\n"
    )
    process = subprocess.run(["node", script], capture_output=True, text=True, check=True)
    end, before, after, weights = json.loads(process.stdout)
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
    assert [round(weight, 1) for weight in weights] == [0.2, 0.8]


def test_the_lessons_count_of_banks_is_measured():
    turned, apart, nearest = 0, 0, 0
    for name in ("en-hi-transformer", "en-fr-transformer"):
        translator = load(name)
        for text, cue in BANKS.items():
            projection = project_words(translator, text)
            bank, other = projection.words.index("bank"), projection.words.index(cue)
            first, *_, last = projection.similarities
            turned += last[bank][other] > first[bank][other] + 0.2
            distances = [
                dist(stage.positions[bank], stage.positions[other]) for stage in projection.stages
            ]
            apart += distances[-1] > distances[0]
            rest = [value for word, value in enumerate(last[bank]) if word != bank]
            nearest += last[bank][other] == max(rest)
    assert (turned, apart, nearest) == (16, 15, 11)
    for language in ("en", "hi"):
        catalogue = json.loads((STATIC / "text" / f"{language}.json").read_text("utf-8"))
        lesson = catalogue["lesson_panel"]["lesson_gravity_text"]
        assert {"16", "15", "11"} <= set(re.findall(r"\d+", lesson))
