"""`dhyan.evaluate`: sacreBLEU's scores of a model or of finished translations, as a mapping."""

import pandas
import pytest

import dhyan
from dhyan.evaluation.metrics import score


def test_scores_are_those_of_the_translations(trained, pairs):
    sources, references = zip(*pairs[:6], strict=True)
    texts = [translation.text for translation in trained.translator(sources, beam=1, max_length=9)]
    expected = score(
        texts, references, language=trained.translator.language, metrics=["chrf", "ter"]
    )
    for model in (trained, trained.translator, trained.folder, str(trained.folder)):
        result = dhyan.evaluate(model, pairs[:6], ["chrf", "ter"], beam=1, max_length=9)
        assert dict(result) == {key: score.value for key, score in expected.items()}
        assert result.translations == texts


def test_finished_translations_of_a_frame_are_scored(pairs):
    frame = pandas.DataFrame(pairs[:6], columns=["en", "hi"])
    result = dhyan.evaluate(frame["hi"], frame, metrics="bleu")
    assert result["bleu"] == pytest.approx(100)
    assert result.scores["bleu"].signature.startswith("nrefs:1")


def test_results_become_frames(pairs):
    sources, references = zip(*pairs[:4], strict=True)
    result = dhyan.evaluate(references, pairs[:4])
    assert result.to_frame().index.to_list() == ["bleu", "chrf"]
    assert result.to_frame()["score"].to_list() == list(result.values())
    sentences = result.sentences_to_frame()
    assert sentences["source"].to_list() == list(sources)
    assert sentences["translation"].to_list() == sentences["reference"].to_list()
    assert repr(result) == "Evaluation(BLEU 100.00, chrF++ 100.00; sentences: 4)"
    assert "100.00" in result._repr_html_()


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (["a"], {}, "model: 1 translations for 2 pairs; give one for each"),
        (["a", None], {}, "model: translation 2 is None, not a text"),
        (5, {}, "model: int is not a model"),
        ("no-such-folder", {}, "no-such-folder: no such model folder"),
        (["a", "b"], {"metrics": "bleurt"}, "metric 'bleurt' is not known"),
        (["a", "b"], {"beam": 2}, "beam: finished translations are not searched"),
    ],
)
def test_mistakes_are_one_line(model, arguments, message):
    with pytest.raises(dhyan.UserError) as caught:
        dhyan.evaluate(model, [("one", "एक"), ("two", "दो")], **arguments)
    assert message in str(caught.value)


def test_arguments_in_the_wrong_order_name_the_order(trained, pairs):
    with pytest.raises(dhyan.UserError, match=r"the order is dhyan\.evaluate\(model, data\)"):
        dhyan.evaluate(pairs, trained.folder)
    with pytest.raises(
        dhyan.UserError, match=r"the order is dhyan\.train\(data, recipe\)"
    ) as caught:
        dhyan.train("numbers", pairs * 100)
    assert len(str(caught.value)) < 200


def test_sources_in_another_language_are_warned_of(trained, pairs, caplog):
    swapped = [(target, source) for source, target in pairs if len(target) < 20][:30]
    dhyan.evaluate(trained, swapped, ["chrf"], beam=1, max_length=2)
    assert "seem to be swapped" in caplog.text
    caplog.clear()
    dhyan.evaluate(trained, pairs[:30], ["chrf"], beam=1, max_length=2)
    assert not caplog.text


def test_attention_maps_of_a_folder_are_those_of_its_translator(trained, pairs):
    text = pairs[0][0]
    maps = [dhyan.explain(model, text) for model in (trained, trained.translator, trained.folder)]
    assert maps[0][0].weights.equal(maps[1][0].weights)
    assert maps[0][0].weights.equal(maps[2][0].weights)
    with pytest.raises(dhyan.UserError, match="no such model folder"):
        dhyan.explain("Where is it?", text)
