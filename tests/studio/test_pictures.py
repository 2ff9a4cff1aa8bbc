"""Pictures on the page: a data URI is read, a path is refused and never opened."""

import pytest
from fastapi.testclient import TestClient

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import MAX_CHARACTERS, MAX_PICTURE_CHARACTERS
from dhyan.studio.server import make_app
from dhyan.text.image_frames import data_uri
from tests.model_check.valid_model import model_files, write_model
from tests.picture_models import picture, write_picture_model


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("pictures")
    folders = [write_picture_model(root / "strips").parent]
    folders.append(write_model(root / "text", model_files()).parent)
    return TestClient(make_app(ModelRegistry(folders)), base_url="http://127.0.0.1")


def test_a_picture_is_read(page):
    response = page.post("/api/translate", json={"text": data_uri(picture()), "model": "strips"})
    assert response.status_code == 200, response.text


def test_a_path_is_refused_and_never_opened(page, tmp_path, monkeypatch):
    def opened(*arguments, **options):
        raise AssertionError("a file was opened")

    path = tmp_path / "a.png"
    picture().save(path)
    monkeypatch.setattr("dhyan.text.image_frames.read_file", opened)
    for route in ("/api/translate", "/api/beam"):
        response = page.post(route, json={"text": str(path), "model": "strips", "beam": 2})
        assert response.status_code == 400
        assert "no file is opened here" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ("strips", "A" * (MAX_CHARACTERS + 1), f"at most {MAX_CHARACTERS} characters"),
        ("strips", "data:" + "A" * MAX_PICTURE_CHARACTERS, f"at most {MAX_PICTURE_CHARACTERS}"),
        ("strips", data_uri(picture(3000, 4)), "frames; the page takes at most"),
        ("text", data_uri(picture()) + "A" * MAX_CHARACTERS, "this model reads text"),
    ],
)
def test_what_is_too_long_is_refused(page, model, text, message):
    response = page.post("/api/translate", json={"text": text, "model": model})
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]
