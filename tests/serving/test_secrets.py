"""Nothing that was asked, and no key, is in the counts or in what the server says of itself."""

import json
import random
import string

import pytest

from dhyan.serving.api_keys import add_key
from tests.serving.running_server import served

SECRET = "planted-Zx81-secret"


@pytest.mark.parametrize(
    "tries", [150, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_no_text_and_no_key_is_in_counts_or_logs(tmp_path, tries):
    key = add_key(tmp_path / "keys", "one")
    chance = random.Random(tries)
    letters = string.ascii_letters + string.digits + "%./?&=-_~!$"
    with served(tmp_path, keys=str(tmp_path / "keys")) as running:
        own = {"authorization": f"Bearer {key}"}
        for number in range(tries):
            odd = "".join(chance.choices(letters, k=chance.randint(1, 60)))
            path = f"/{SECRET}{odd}" if number % 2 else "/v1/translate"
            headers = own if number % 3 else {"authorization": f"Bearer {SECRET}{number}"}
            method = ("POST", "GET", "PUT", "DELETE")[number % 4]
            body = {"text": f"{SECRET} {number}", "beam": number % 20} if number % 4 == 0 else None
            status, _, raw = running.ask(method, path, body, headers)
            assert status < 500
            assert status == 200 or SECRET.encode() not in raw
        running.translate("!kill", own)
        running.until_ready()
        running.translate(f"{SECRET} !hang", own)
        page = running.ask("GET", "/metrics", headers=own)[2].decode()
        running.process.terminate()
        assert running.process.wait(20) == 0
        said = running.errors.read_text()
    series = [line for line in page.splitlines() if line and not line.startswith("#")]
    assert len(series) <= 200
    for place in (page, said):
        assert SECRET not in place
        assert SECRET.upper() not in place
        assert key not in place
    assert "died" in said
    print(f"{tries:,} odd requests: {len(series)} series, nothing of them in counts or logs")


def test_the_counts_are_as_prometheus_reads_them(server):
    server.translate("a")
    page = server.ask("GET", "/metrics")[2].decode()
    kinds = {}
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kinds.setdefault(name, kind) == kind
        elif line and not line.startswith("#"):
            name = line.partition("{")[0].partition(" ")[0]
            owner = name
            for ending in ("_bucket", "_sum", "_count"):
                if kinds.get(name.removesuffix(ending)) == "histogram":
                    owner = name.removesuffix(ending)
            assert owner in kinds, line
            float(line.rpartition(" ")[2])
    assert set(kinds.values()) == {"counter", "gauge", "histogram"}
    assert json.dumps(page).isascii()
