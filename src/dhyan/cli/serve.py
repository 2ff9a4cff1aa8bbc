"""`dhyan serve`: translation over HTTP for other programs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Device, Model, Threads, check_models, option
from dhyan.errors import UserError
from dhyan.serving.settings import ServerSettings

if TYPE_CHECKING:
    from dhyan.serving.access import ApiKeys
    from dhyan.serving.supervisor import Canary
    from dhyan.web.listen import ListenAddress

WORKER = "dhyan.serving.worker"
REMOTE_RATE_LIMIT = 2000  # characters per second of a client on another machine, unless given
DEFAULT_RATE = f"0; {REMOTE_RATE_LIMIT} if other machines can connect"


def serve(
    model: Model,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")
    ] = 8080,
    host: Annotated[str, typer.Option(help="IP address to listen on.")] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="Further allowed value of the Host header, as host or host:port."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of API keys; every request must send one."),
    ] = None,
    add_key: Annotated[
        str,
        typer.Option(metavar="NAME", help="Add an API key to --key-file, print it, and exit."),
    ] = "",
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Accept other machines without API keys.")
    ] = False,
    rate: Annotated[
        float | None, option(ServerSettings, "rate_limit", "--rate", default=DEFAULT_RATE)
    ] = None,
    deadline: Annotated[float, option(ServerSettings, "deadline")] = ServerSettings.deadline,
    batch: Annotated[
        int, option(ServerSettings, "batch_capacity", "--batch")
    ] = ServerSettings.batch_capacity,
    queue: Annotated[
        int, option(ServerSettings, "queue_capacity", "--queue")
    ] = ServerSettings.queue_capacity,
    canary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TSV of source and expected translation; /readyz fails when the output differs.",
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Serve /metrics also on this loopback port, without API key."
        ),
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Serve translations over HTTP until Ctrl-C or SIGTERM.

    Only this machine can connect by default. For other machines give --host with API keys; each
    client then has a rate limit.

    Example: dhyan serve runs/bahdanau2015-small
    """
    try:
        from dhyan.serving.server import log_to
        from dhyan.serving.server import serve as run
        from dhyan.serving.supervisor import Supervisor
        from dhyan.web.listen import ListenAddress, bind
    except ModuleNotFoundError as missing:
        raise UserError(f"the server needs {missing.name}: pip install 'dhyan[studio]'") from None

    if add_key:
        _add_key(key_file, add_key)
        return
    address = ListenAddress(host, port, tuple(name or ()))
    keys, rate_limit = _keys(address, key_file, no_auth), _rate_limit(address, rate)
    check_models(model)
    settings = ServerSettings(
        rate_limit=rate_limit, deadline=deadline, batch_capacity=batch, queue_capacity=queue
    )
    load = {"folder": str(model), "device": device, "threads": threads}
    supervisor = Supervisor([sys.executable, "-m", WORKER], load, settings, _canary(canary))
    bound, metrics_socket = bind(address), None
    if metrics_port is not None:
        metrics_socket = bind(ListenAddress(port=metrics_port), "--metrics-port")
    log_to(warn)
    run(supervisor, bound, address, keys, _announce, metrics_socket=metrics_socket)


def _announce(line: str) -> None:
    typer.echo(f"{line} (Ctrl-C to stop)")


def _add_key(path: Path | None, name: str) -> None:
    from dhyan.serving.access import add_key

    if path is None:
        raise UserError(f"--add-key {name}: name the file with --key-file FILE")
    typer.echo(add_key(path, name))
    warn(f"{path}: added an API key for {name}; the file has only its hash, so note the key")


def _keys(address: "ListenAddress", path: Path | None, no_auth: bool) -> "ApiKeys | None":
    """The API keys that are required, if any."""
    from dhyan.serving.access import read_keys

    if no_auth and path:
        raise UserError("--no-auth and --key-file exclude each other; leave one out")
    if not address.is_loopback and not path and not no_auth:
        raise UserError(
            f"--host {address.host} lets other machines connect: "
            "give --key-file FILE, or type --no-auth"
        )
    return read_keys(path) if path else None


def _rate_limit(address: "ListenAddress", rate: float | None) -> float:
    """Characters per second of one client; if other machines can connect there is always a limit."""
    if address.is_loopback:
        return rate or 0.0
    if rate == 0:
        raise UserError(
            f"--rate 0 --host {address.host}: other machines need a rate limit; "
            f"give one, such as --rate {REMOTE_RATE_LIMIT}"
        )
    return rate or REMOTE_RATE_LIMIT


def _canary(path: Path | None) -> "Canary":
    from dhyan.cli.translate_io import read_glossary
    from dhyan.serving.supervisor import Canary

    if path is None:
        return Canary()
    pairs = read_glossary(path)
    if not pairs:
        raise UserError(f"{path}: has no sentence; give a sentence, a tab and its translation")
    return Canary(tuple(pairs), tuple(pairs.values()))
