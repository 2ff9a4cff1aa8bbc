"""BLEU by length, read off a report, and a verdict that follows its numbers."""

import json

import pytest

from dhyan.errors import UserError
from dhyan.lessons.encoder_decoder.bottleneck import bottleneck


def model(*bleu, over=30, alignment=None):
    groups = [(1, 10), (11, 30), (31, None)] if over == 30 else [(1, 5), (6, 10), (11, 15)]
    parts = [
        {"least": low, "most": high, "sentences": 9, "bleu": score, "bleu_low": score - 1,
         "bleu_high": score + 1}
        for (low, high), score in zip(groups, bleu, strict=True)
    ]  # fmt: skip
    retained = {"up_to": 10, "over": over, "bleu_short": bleu[0], "bleu_long": bleu[-1]}
    retained["share"] = bleu[-1] / bleu[0]
    tests = {"random": {"by_length": parts, "retained": retained}}
    return {"tests": tests, "alignment": alignment}


def write_report(folder, **models):
    path = folder / "report.json"
    named = {name.replace("_", "-"): model_report for name, model_report in models.items()}
    path.write_text(json.dumps({"main_test": "random", "models": named}))
    return path


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def test_attention_that_stays_and_a_bottleneck_that_falls_bear_the_claim_out(tmp_path):
    path = write_report(
        tmp_path, bottleneck_forward=model(90, 60, 30), bahdanau=model(90, 90, 85.5)
    )
    result = bottleneck(path)
    assert result.holds
    assert result.retained(attends=False) == pytest.approx((1 / 3,))
    assert result.retained(attends=True) == pytest.approx((0.95,))
    assert (
        "retain 33 % of their BLEU on sentences of up to 10 words; models with attention retain 95 %"
        in flat_text(result)
    )
    assert "with attention holds." in flat_text(result)
    assert "यहाँ सही है" in flat_text(result, "hi")
    assert result.length_labels == ("1–10", "11–30", "31+")
    assert result.model_scores[0].style == "dashed"


@pytest.mark.parametrize(("without", "attentive"), [((90, 89, 88), 89), ((90, 60, 30), 60)])
def test_a_claim_that_the_numbers_contradict_is_reported_so(tmp_path, without, attentive):
    path = write_report(
        tmp_path, bottleneck_forward=model(*without), luong_dot=model(90, 89, attentive)
    )
    result = bottleneck(path)
    assert result.holds is False
    assert "does not hold" in flat_text(result)
    assert "यहाँ सही नहीं है" in flat_text(result, "hi")


def test_short_sentences_alone_give_no_verdict(tmp_path):
    path = write_report(
        tmp_path,
        bottleneck_forward=model(90, 60, 30, over=10),
        bahdanau=model(90, 90, 90, over=10),
    )
    assert "no sentences long enough" in flat_text(bottleneck(path))
    assert "holds" not in flat_text(bottleneck(path))


def test_models_with_attention_only_give_no_verdict(tmp_path):
    path = write_report(tmp_path, bahdanau=model(90, 90, 90), mine=model(90, 50, 20))
    result = bottleneck(path)
    assert result.holds is None
    assert [scores.attends for scores in result.model_scores] == [True, None]
    assert "the claim cannot be tested" in flat_text(result)


def test_attention_is_known_from_alignments_or_the_recipe_name(tmp_path):
    aligned = model(90, 90, 90, alignment={"where": "decoder.attention"})
    recipes = {"sutskever2014_small": model(9, 6, 3), "transformer2017_small": model(9, 9, 9)}
    result = bottleneck(write_report(tmp_path, mine=aligned, **recipes))
    assert [scores.attends for scores in result.model_scores] == [True, False, True]
    assert [scores.style for scores in result.model_scores] == ["solid", "dashed", "dotted"]


def test_a_folder_and_a_result_file_are_reports_too(tmp_path):
    path = write_report(tmp_path, bahdanau=model(90, 90, 90))
    assert bottleneck(tmp_path).model_scores == bottleneck(path).model_scores
    result = tmp_path / "ladder_here.json"
    result.write_text(json.dumps({"what": "ladder", "figures": json.loads(path.read_text())}))
    assert bottleneck(result).model_scores == bottleneck(path).model_scores


def test_models_may_be_chosen(tmp_path):
    path = write_report(tmp_path, bottleneck_forward=model(90, 60, 30), bahdanau=model(90, 90, 90))
    assert [scores.name for scores in bottleneck(path, models="bahdanau").model_scores] == [
        "bahdanau"
    ]
    with pytest.raises(UserError, match="has no 'luong'; it has bottleneck-forward, bahdanau"):
        bottleneck(path, models=["luong"])


def test_without_a_report_the_snapshot_is_shown():
    result = bottleneck()
    assert len(result.retained(attends=False)) == 3
    assert len(result.retained(attends=True)) == len(result.model_scores) - 3 > 5
    assert result.over == 30
    assert "Snapshot of" in flat_text(result)
    assert [scores.name for scores in bottleneck(models=["bahdanau"]).model_scores] == ["bahdanau"]
    with pytest.raises(UserError, match="snapshot has no 'luong'; it has bottleneck-forward"):
        bottleneck(models=["luong"])


def test_a_missing_report_is_an_error_with_the_command_to_run(tmp_path):
    with pytest.raises(
        UserError, match="cannot be read .No such file or directory.*--ladder --quick"
    ):
        bottleneck(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "is not JSON"),
        ("[1]", "compares no models"),
        ('{"figures": {}}', "compares no models"),
        ('{"models": {}, "main_test": "random"}', "has no BLEU by length"),
        ('{"models": {"a": {"tests": {}}}, "main_test": "random"}', "has no BLEU by length"),
    ],
)
def test_another_file_is_an_error(tmp_path, text, message):
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        bottleneck(path)


def test_the_figure_can_be_drawn_dark_and_in_hindi():
    assert bottleneck().figure(lang="hi", dark=True).axes
