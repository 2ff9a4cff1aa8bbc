"""No text and no API key appears in the metrics or in the log."""

import json
import random
import string

import pytest

from dhyan.serving.access import add_key
from tests.serving.running_server import running_server

SECRET = "planted-Zx81-secret"


@pytest.mark.parametrize(
    "tries", [150, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_no_text_and_no_key_is_in_metrics_or_log(tmp_path, tries):
    key = add_key(tmp_path / "keys", "one")
    rng = random.Random(tries)
    characters = string.ascii_letters + string.digits + "%./?&=-_~!$"
    with running_server(tmp_path, keys=str(tmp_path / "keys")) as running:
        own_key = {"authorization": f"Bearer {key}"}
        for number in range(tries):
            odd = "".join(rng.choices(characters, k=rng.randint(1, 60)))
            path = f"/{SECRET}{odd}" if number % 2 else "/v1/translate"
            headers = own_key if number % 3 else {"authorization": f"Bearer {SECRET}{number}"}
            method = ("POST", "GET", "PUT", "DELETE")[number % 4]
            body = {"text": f"{SECRET} {number}", "beam": number % 20} if number % 4 == 0 else None
            status, _, raw = running.request(method, path, body, headers)
            assert status < 500
            assert status == 200 or SECRET.encode() not in raw
        running.translate("!kill", own_key)
        running.wait_until_ready()
        running.translate(f"{SECRET} !hang", own_key)
        page = running.request("GET", "/metrics", headers=own_key)[2].decode()
        running.process.terminate()
        assert running.process.wait(60) == 0
        log = running.stderr.read_text()
    series = [line for line in page.splitlines() if line and not line.startswith("#")]
    assert len(series) <= 200
    for text in (page, log):
        assert SECRET not in text
        assert SECRET.upper() not in text
        assert key not in text
    assert "died" in log
    print(f"{tries:,} odd requests: {len(series)} series, nothing of them in metrics or log")


def test_the_metrics_are_valid_exposition(server):
    server.translate("a")
    page = server.request("GET", "/metrics")[2].decode()
    metric_types = {}
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, metric_type = line.split(" ")
            assert metric_types.setdefault(name, metric_type) == metric_type
        elif line and not line.startswith("#"):
            name = line.partition("{")[0].partition(" ")[0]
            owner = name
            for ending in ("_bucket", "_sum", "_count"):
                if metric_types.get(name.removesuffix(ending)) == "histogram":
                    owner = name.removesuffix(ending)
            assert owner in metric_types, line
            float(line.rpartition(" ")[2])
    assert set(metric_types.values()) == {"counter", "gauge", "histogram"}
    assert json.dumps(page).isascii()
