"""Datasets of Dask and Ray get the translations that the translator gives, in their order."""

from importlib.util import find_spec

import pytest

import dhyan
from dhyan.batch_translation import (
    make_job,
    translate_bag,
    translate_dataframe,
    translate_dataset,
)
from dhyan.batch_translation.datasets import BatchTranslator
from dhyan.errors import UserError

SENTENCES = ["The boy is here.", "", "She sings.", "He is happy.", "The water is cold."]
MODEL = "en-hi-transformer"


@pytest.fixture(scope="module")
def expected():
    return [translation.text for translation in dhyan.load(MODEL)(SENTENCES, beam=1)]


def test_a_bag_is_translated_in_order(expected):
    bag = pytest.importorskip("dask.bag").from_sequence(SENTENCES, npartitions=2)
    translated = translate_bag(bag, MODEL, beam=1)
    assert translated.npartitions == 2
    assert translated.compute(scheduler="synchronous") == expected


def test_a_dataframe_gets_a_column(expected):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": [*SENTENCES[:4], None]})
    translated = translate_dataframe(frame, MODEL, "text", into="hindi", beam=1)
    assert translated["hindi"].tolist() == [*expected[:4], ""]
    assert translated["text"].tolist() == frame["text"].tolist()
    with pytest.raises(UserError, match=r"the dataframe has no 'en'; it has \['text'\]"):
        translate_dataframe(frame, MODEL, "en")


def test_a_dask_dataframe_gets_a_column(expected):
    pytest.importorskip("pyarrow", reason="dask.dataframe needs pyarrow")
    dataframe, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = dataframe.from_pandas(pandas.DataFrame({"text": SENTENCES}), npartitions=2)
    translated = translate_dataframe(frame, MODEL, "text", beam=1)
    computed = translated.compute(scheduler="synchronous")
    assert computed["translation"].tolist() == expected


def test_batches_of_ray_get_a_column(expected):
    translate = BatchTranslator(make_job(MODEL, beam=1), "text", "hindi", "cpu")
    batch = {"id": [1, 2, 3, 4, 5], "text": SENTENCES}
    assert translate(batch) == {**batch, "hindi": expected}


@pytest.mark.soak
def test_a_ray_dataset_gets_a_column(expected, monkeypatch):
    if not (find_spec("ray") and find_spec("pyarrow")):
        pytest.skip("ray.data is not installed: pip install 'ray[data]'")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray.data

    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1")
    try:
        dataset = ray.data.from_items([{"at": at, "text": t} for at, t in enumerate(SENTENCES)])
        rows = translate_dataset(dataset, MODEL, "text", beam=1).take_all()
    finally:
        ray.shutdown()
    rows.sort(key=lambda row: row["at"])
    assert [row["translation"] for row in rows] == expected
