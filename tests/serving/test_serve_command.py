"""`dhyan serve`: what it refuses, where it listens, and what its guide says of it."""

import json
import re
import sys
from pathlib import Path

import pytest

from dhyan.cli import main
from dhyan.cli.serve import _canary, _pools, _rate_limit, _threads_per_worker
from dhyan.errors import UserError
from dhyan.serving.settings import ServerSettings
from dhyan.web.listen import ListenAddress
from tests.serving.running_server import ROOT

GUIDE = (ROOT / "docs" / "how-to" / "serve.md").read_text()
ROOMS = [ROOT / "src" / "dhyan" / room for room in ("serving", "web")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "nowhere"),
        ((".", "--host", "0.0.0.0"), "give --key-file FILE, or type --no-auth"),
        ((".", "--host", "::"), "give --key-file FILE, or type --no-auth"),
        ((".", "--host", "example.org"), "not an IP address"),
        ((".", "--trusted-proxy", "proxy"), "not an IP address or network"),
        ((".", "--trusted-proxy", "127.0.0.1"), "--trusted-proxy lets other machines connect"),
        ((".", "--trusted-proxy", "::1", "--no-auth", "--rate-limit", "0"), "--rate-limit 2000"),
        ((".", "--host", "0.0.0.0", "--no-auth", "--rate-limit", "0"), "such as --rate-limit 2000"),
        ((".", "--key-file", "none"), "none"),
        ((".", "--key-file", "none", "--no-auth"), "leave one out"),
        ((".", "--cors-origin", "*"), "not an origin"),
        ((".", "--cors-origin", "https://example.org/"), "not an origin"),
        ((".", "--cors-origin", "https://example.org:443"), "leave out the default port"),
        ((".", "--add-key", "a"), "--key-file FILE"),
        ((".", "--add-key", "a b", "--key-file", "keys"), "a name has up to 64"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_an_impossible_command_is_one_line_of_error(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["dhyan", "serve", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("host", "rate", "limit"),
    [
        ("127.0.0.1", None, 0), ("::1", 0.0, 0), ("127.0.0.1", 5.0, 5),
        ("0.0.0.0", None, 2000), ("10.0.0.5", 7.0, 7),
    ],
)  # fmt: skip
def test_clients_on_other_machines_always_have_a_rate_limit(host, rate, limit):
    address = ListenAddress(host)
    assert _rate_limit(address, rate, remote=not address.is_loopback) == limit


def test_the_models_of_a_server_have_distinct_names(tmp_path):
    folders = [tmp_path / parent / "run" for parent in ("a", "b")]
    settings, load = ServerSettings(), {"device": "cpu", "threads": 1}
    with pytest.raises(UserError, match="two models are named run"):
        _pools(folders, (), settings, load)
    with pytest.raises(UserError, match="1 files for 2 models"):
        _pools([tmp_path / "a", tmp_path / "b"], [tmp_path / "c"], settings, load)
    [only] = _pools([Path(".")], (), settings, load)
    assert only.name == Path.cwd().name


@pytest.mark.parametrize(
    ("threads", "workers", "each"), [(0, 1, 0), (3, 1, 3), (4, 2, 2), (3, 2, 1), (1, 5, 1)]
)
def test_threads_are_divided_among_the_workers(threads, workers, each):
    assert _threads_per_worker(threads, workers) == each


def test_the_missing_packages_of_the_server_are_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "dhyan.serving.server", None)
    monkeypatch.setattr("sys.argv", ["dhyan", "serve", "."])
    with pytest.raises(SystemExit):
        main()
    assert "pip install 'dhyan[serve]'" in capsys.readouterr().err


def test_a_canary_is_read_from_its_file(tmp_path):
    path = tmp_path / "canary.tsv"
    path.write_text("one\tएक\n\ntwo\tदो\n")
    canary = _canary(path)
    assert (canary.sentences, canary.expected) == (("one", "two"), ("एक", "दो"))
    path.write_text("\n")
    with pytest.raises(UserError, match="has no sentence"):
        _canary(path)


def listening(pid):
    """The addresses a process listens on, from the kernel's tables."""
    links = Path(f"/proc/{pid}/fd").iterdir()
    open_files = {link.resolve().name for link in links if link.is_symlink()}
    addresses = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            is_open = columns[3] == "0A" or table.startswith("udp")
            if f"socket:[{columns[9]}]" in open_files and is_open:
                addresses.append(columns[1])
    return addresses


def test_the_server_listens_on_loopback_and_its_worker_nowhere(server):
    pid = server.process.pid
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert listening(pid) == [f"0100007F:{server.port:04X}"]
    assert [listening(worker) for worker in workers] == [[]]


def test_the_guide_has_every_path_and_every_error_code(server):
    paths = json.loads(server.request("GET", "/openapi.json")[2])["paths"]
    assert not [path for path in paths if f" {path}`" not in GUIDE]
    source = "".join(path.read_text() for room in ROOMS for path in room.glob("*.py"))
    codes = set(re.findall(r'ApiError\(\s*\d+, "(\w+)"', source))
    codes |= set(re.findall(r'"code": "(\w+)"', source)) | {"not_found", "method_not_allowed"}
    assert len(codes) > 15
    never_sent = {"client_disconnected"}
    assert not [code for code in codes - never_sent if f"`{code}`" not in GUIDE]
