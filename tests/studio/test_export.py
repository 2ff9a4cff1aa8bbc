"""Exports: figures as on the command line, an HTML file, a subset font."""

import json
from io import BytesIO

import pytest
import torch
from fontTools.ttLib import TTFont

from dhyan.insight.explain import cross_maps, explain
from dhyan.insight.heatmap import heatmap, save
from dhyan.insight.trace import trace
from dhyan.run import load
from dhyan.studio.routes.export import FigureRequest, select_map

SENTENCE = "how are you"
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}


def body(model="bahdanau", **more):
    return {"text": SENTENCE, "model": model, **more}


@pytest.mark.parametrize("suffix", MAGIC)
def test_a_figure_equals_the_command_lines_byte_for_byte(client, models, suffix, tmp_path):
    maps = cross_maps(explain(load(models[1]), SENTENCE, beam=1))
    save(heatmap(*maps[-1:]), tmp_path / f"own.{suffix}")
    response = client.post(f"/api/figure.{suffix}", json=body())
    assert response.status_code == 200
    assert response.content.startswith(MAGIC[suffix])
    assert response.content == (tmp_path / f"own.{suffix}").read_bytes()


def test_a_figure_has_all_heads_or_a_combination_with_a_title(models):
    own_trace = trace(load(models[3]), SENTENCE, beam=1)

    def selected_map(**fields):
        return select_map(own_trace, FigureRequest(text=SENTENCE, **fields))

    all_heads, title = selected_map()
    assert (len(all_heads.weights), title) == (2, "")
    for head, weights in {
        "avg": all_heads.weights.mean(0),
        "max": all_heads.weights.amax(0),
        "2": all_heads.weights[1],
        "9": all_heads.weights[1],
    }.items():
        selected, title = selected_map(head=head)
        assert torch.equal(selected.weights, weights[None])
        assert title.startswith("Cross-attention, layer 2: ")
    assert selected_map(layer=1)[0].name == "decoder.layers.0.cross_attention"
    assert selected_map(layer=7)[0].name == all_heads.name
    assert (
        selected_map(role="encoder_self")[0].source == selected_map(role="encoder_self")[0].target
    )


def test_a_missing_attention_is_refused(client):
    response = client.post("/api/figure.svg", json=body(role="decoder_self"))
    assert response.status_code == 400
    assert "no attention of that role" in response.json()["error"]["message"]
    assert client.post("/api/figure.gif", json=body()).status_code == 400
    assert client.post("/api/figure.svg", json=body(head="0")).status_code == 400


def test_a_subset_font_has_only_the_characters_of_the_text(client):
    response = client.get("/api/font/subset.ttf", params={"text": "क्षत्रिय abc"})
    assert response.headers["content-type"] == "font/ttf"
    font = TTFont(BytesIO(response.content))
    characters = {chr(code) for code in font.getBestCmap()}
    assert set("क्षत्रिय") <= characters
    assert not characters & set("abcखगघ")
    assert "GSUB" in font
    assert "fvar" in font  # bold stays bold
    assert len(response.content) < 30_000


def test_the_text_of_a_subset_font_is_limited(client):
    assert client.get("/api/font/subset.ttf", params={"text": "क" * 4001}).status_code == 400
    assert client.get("/api/font/subset.ttf").status_code == 400


def test_the_exported_page_has_the_requested_trace(client):
    trace = client.post("/api/translate", json=body()).json()
    page = client.post("/api/export.html", json=body()).text
    responses = page.partition('id="embedded-responses">')[2].partition("</script>")[0]
    assert json.loads(responses)["/api/translate"] == trace
    [card] = json.loads(responses)["/api/models"]
    assert (card["score"], card["saved"]) == ("additive", SENTENCE)
    assert card["views"] == [
        "translate", "tour", "step", "beam", "self_attention", "gravity", "scaling",
    ]  # fmt: skip
