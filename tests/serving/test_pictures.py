"""Pictures in requests: a data URI is read, a path is refused and never opened."""

import pytest

from dhyan.data.read_pictures import SUFFIXES
from dhyan.serving.settings import (
    MAX_PICTURE_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    PICTURE_CHARACTERS,
    counted_characters,
)
from dhyan.serving.worker import load
from dhyan.serving.worker_protocol import CollectedAnswers, JobOptions, JobText
from dhyan.text.image_frames import data_uri
from tests.picture_models import picture, write_picture_model


@pytest.fixture(scope="module", params=["columns", "patches"])
def worker(request, tmp_path_factory):
    folder = write_picture_model(tmp_path_factory.mktemp(request.param), request.param)
    return load({"folder": str(folder), "device": "cpu", "threads": 1})


def answers(worker, texts, **options):
    collected = CollectedAnswers()
    jobs = [JobText(job, text) for job, text in enumerate(texts)]
    worker.translate(jobs, JobOptions(**options), collected)
    return [collected.answers[job] for job in range(len(texts))]


@pytest.mark.parametrize("options", [{}, {"paragraphs": True}, {"nbest": 2, "beam": 2}])
def test_a_picture_is_answered_beside_what_is_none(worker, tmp_path, options, monkeypatch):
    path = tmp_path / f"a{min(SUFFIXES)}"
    picture().save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(path)

    def opened(*arguments, **options):
        raise AssertionError("a file was opened")

    monkeypatch.setattr("dhyan.text.image_frames.read_file", opened)
    texts = [data_uri(picture()), str(path), "data:image/png;base64,AAAA", data_uri(picture(5, 5))]
    first, refused, broken, last = answers(worker, texts, **options)
    assert first["tokens"] > 0
    assert first["translations"]
    assert last["translations"]
    assert refused["code"] == broken["code"] == "invalid_request"
    assert "no file is opened here; send the picture itself" in refused["error"]
    assert "not a picture" in broken["error"]


def test_a_picture_may_be_longer_than_a_text(server):
    text = data_uri(picture(200, 100)) + "A" * MAX_TEXT_CHARACTERS
    assert server.translate(text)[0] == 200
    status, body = server.translate("A" * (MAX_TEXT_CHARACTERS + 1))
    assert (status, body["error"]["code"]) == (400, "invalid_request")
    assert f"at most {MAX_TEXT_CHARACTERS} characters" in body["error"]["message"]
    status, body = server.translate("data:" + "A" * MAX_PICTURE_CHARACTERS)
    assert status == 400
    assert f"at most {MAX_PICTURE_CHARACTERS} characters" in body["error"]["message"]


def test_a_picture_counts_by_itself_not_by_its_characters():
    assert counted_characters("data:" + "A" * 100_000) == PICTURE_CHARACTERS
    assert counted_characters("abc") == 3
