"""`dhyan serve` as it is typed: what it refuses, where it listens, and what its page says of it."""

import json
import re
import socket
from pathlib import Path

import pytest

from dhyan.cli import main
from dhyan.cli.serve import _canary, _rate
from dhyan.errors import UserError
from dhyan.serving.server import Place, take_place
from tests.serving.running_server import ROOT

PAGE = (ROOT / "docs" / "serve.md").read_text()
SOURCE = ROOT / "src" / "dhyan" / "serving"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "nowhere"),
        ((".", "--host", "0.0.0.0"), "give --key-file FILE, or type --no-auth"),
        ((".", "--host", "::"), "give --key-file FILE, or type --no-auth"),
        ((".", "--host", "example.org"), "give an address"),
        ((".", "--host", "0.0.0.0", "--no-auth", "--rate", "0"), "give one, as --rate 2000"),
        ((".", "--key-file", "none"), "none"),
        ((".", "--key-file", "none", "--no-auth"), "leave one out"),
        ((".", "--add-key", "a"), "--key-file FILE"),
        ((".", "--add-key", "a b", "--key-file", "keys"), "a name has up to 64"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_cannot_be_is_one_line(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["dhyan", "serve", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_taken_port_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"127.0.0.1 port {port}: .*choose another by --port"):
            take_place(Place(port=port))


@pytest.mark.parametrize(
    ("host", "given", "found"),
    [
        ("127.0.0.1", None, 0), ("::1", 0.0, 0), ("127.0.0.1", 5.0, 5),
        ("0.0.0.0", None, 2000), ("10.0.0.5", 7.0, 7),
    ],
)  # fmt: skip
def test_clients_on_other_machines_always_have_a_limit(host, given, found):
    assert _rate(Place(host), given) == found


def test_a_canary_is_read_from_its_file(tmp_path):
    file = tmp_path / "canary.tsv"
    file.write_text("one\tएक\n\ntwo\tदो\n")
    canary = _canary(file)
    assert (canary.sentences, canary.wanted) == (("one", "two"), ("एक", "दो"))
    file.write_text("\n")
    with pytest.raises(UserError, match="has no sentence"):
        _canary(file)


def listening(pid):
    """The addresses that a process listens on, as the kernel has them."""
    own = {link.resolve().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if f"socket:[{parts[9]}]" in own and (parts[3] == "0A" or table.startswith("udp")):
                found.append(parts[1])
    return found


def test_it_listens_on_this_machine_alone_and_its_model_nowhere(server):
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert listening(pid) == [f"0100007F:{server.port:04X}"]
    assert [listening(child) for child in children] == [[]]


def test_the_page_names_every_path_and_every_code(server):
    paths = json.loads(server.ask("GET", "/openapi.json")[2])["paths"]
    assert not [path for path in paths if f" {path}`" not in PAGE]
    source = "".join(file.read_text() for file in SOURCE.glob("*.py"))
    codes = set(re.findall(r'Refusal\(\s*(\d+), "(\w+)"', source))
    assert len(codes) > 12
    untold = {"gone"}  # to a client that has left
    assert not [code for _, code in codes if code not in untold and f"`{code}`" not in PAGE]
