"""`dhyan serve`: translation for other programs, over HTTP."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.shared_options import Device, Model, Threads, check_models
from dhyan.cli.warnings import warn
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.serving.api_keys import Keys
    from dhyan.serving.server import Place
    from dhyan.serving.supervisor import Canary

CHILD = "dhyan.serving.worker"
RATE = 2000  # letters a second of one client on another machine


def serve(
    model: Model,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8080,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option(help="Answer under this Host too, as host or host:port.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Whose keys are needed to ask.")
    ] = None,
    add_key: Annotated[
        str, typer.Option(metavar="NAME", help="Add a key to --key-file, print it, and end.")
    ] = "",
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Listen beyond this machine without any key.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            show_default=f"0, which is no limit; with --host beyond this machine {RATE}",
            help="Letters a second of one client.",
        ),
    ] = None,
    deadline: Annotated[
        float, typer.Option(min=0.1, max=60, help="Seconds for a request that names none.")
    ] = 10,
    batch: Annotated[int, typer.Option(min=1, help="Most tokens, times beam, of a batch.")] = 4096,
    queue: Annotated[int, typer.Option(min=0, help="How many such may wait.")] = 6144,
    canary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Sentence, tab, translation: ready only if so."),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Tell /metrics here too, to this machine, keyless."),
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate for other programs over HTTP, until Ctrl-C or SIGTERM.

    It listens on this machine alone; beyond it, a key is needed to ask, and each client has a
    limit.

    Example: dhyan serve runs/bahdanau2015-small
    """
    try:
        from dhyan.serving.server import Place, log_to, take_place
        from dhyan.serving.server import serve as run
        from dhyan.serving.settings import Settings
        from dhyan.serving.supervisor import Keeper
    except ModuleNotFoundError as missing:
        raise UserError(f"the server needs {missing.name}: pip install 'dhyan[studio]'") from None

    if add_key:
        _add(key_file, add_key)
        return
    place = Place(host, port, tuple(name or ()))
    keys, allowed = _keys(place, key_file, no_auth), _rate(place, rate)
    check_models(model)
    settings = Settings(rate=allowed, deadline=deadline, batch=batch, queue=queue)
    load = {"folder": str(model), "device": device, "threads": threads}
    keeper = Keeper([sys.executable, "-m", CHILD], load, settings, _canary(canary))
    taken, watched = take_place(place), None
    if metrics_port is not None:
        watched = take_place(Place(port=metrics_port), "--metrics-port")
    log_to(warn)
    run(keeper, taken, place, keys, _say, watched=watched)


def _say(line: str) -> None:
    typer.echo(f"{line} (Ctrl-C to stop)")


def _add(file: Path | None, name: str) -> None:
    from dhyan.serving.api_keys import add_key

    if file is None:
        raise UserError(f"--add-key {name}: say where by --key-file FILE")
    typer.echo(add_key(file, name))
    warn(f"{file}: has a key for {name} now; only its sum is kept, so note the key")


def _keys(place: "Place", file: Path | None, no_auth: bool) -> "Keys | None":
    """The keys that are needed, if any are."""
    from dhyan.serving.api_keys import read_keys

    if no_auth and file:
        raise UserError("--no-auth and --key-file: leave one out")
    if not place.loopback and not file and not no_auth:
        raise UserError(
            f"--host {place.host} lets other machines ask: give --key-file FILE, or type --no-auth"
        )
    return read_keys(file) if file else None


def _rate(place: "Place", rate: float | None) -> float:
    """Letters a second of one client: beyond this machine there is always a limit."""
    if place.loopback:
        return rate or 0.0
    if rate == 0:
        raise UserError(
            f"--rate 0 --host {place.host}: other machines need a limit; give one, as --rate {RATE}"
        )
    return rate or RATE


def _canary(file: Path | None) -> "Canary":
    from dhyan.cli.shared_options import glossary_in
    from dhyan.serving.supervisor import Canary

    if file is None:
        return Canary()
    pairs = glossary_in(file)
    if not pairs:
        raise UserError(f"{file}: has no sentence; give a sentence, a tab and its translation")
    return Canary(tuple(pairs), tuple(pairs.values()))
