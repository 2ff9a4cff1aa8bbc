"""`dhyan serve`: translation over HTTP for other programs."""

import ipaddress
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Device, check_models, option
from dhyan.errors import UserError
from dhyan.pretrained import find_pretrained
from dhyan.serving.settings import ServerSettings

if TYPE_CHECKING:
    from dhyan.serving.access import ApiKeys
    from dhyan.serving.supervisor import Canary, WorkerPool
    from dhyan.web.listen import ListenAddress

WORKER = "dhyan.serving.worker"
REMOTE_RATE_LIMIT = 2000  # characters per second of a client on another machine, unless given
DEFAULT_RATE_LIMIT = f"0; {REMOTE_RATE_LIMIT} if other machines can connect"
DEFAULT_THREADS = 4  # of all workers together

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL",
        help="Run folders, step-N checkpoints of them, pretrained models (see dhyan models), or "
        "folders of Hugging Face or CTranslate2; each has worker processes of its own.",
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")]
Host = Annotated[str, typer.Option(help="IP address to listen on.")]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST",
        show_default="none",
        help="Further allowed value of the Host header, as host or host:port; repeatable.",
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORIGIN",
        help="CORS: origin whose web pages may use the server, as https://host; repeatable.",
        show_default="none",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", show_default="none", help="File of API keys; every request must send one."
    ),
]
AddKey = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        show_default="none",
        help="Add an API key to --key-file, print it, and exit.",
    ),
]
NoAuth = Annotated[bool, typer.Option("--no-auth", help="Accept other machines without API keys.")]
RateLimit = Annotated[
    float | None, option(ServerSettings, "rate_limit", default=DEFAULT_RATE_LIMIT)
]
Deadline = Annotated[float, option(ServerSettings, "deadline")]
BatchCapacity = Annotated[int, option(ServerSettings, "batch_capacity")]
QueueCapacity = Annotated[int, option(ServerSettings, "queue_capacity")]
Canaries = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="TSV of source and expected translation; /readyz fails when the output differs. "
        "With several models, one for each in order.",
    ),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        show_default="none",
        help="Serve /metrics also on this loopback port, without API key.",
    ),
]
TrustedProxies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS",
        show_default="none",
        help="IP address or network of a reverse proxy, whose X-Forwarded-For names the client; "
        "repeatable.",
    ),
]
Workers = Annotated[
    int, typer.Option(min=1, max=256, help="Worker processes of each model, each with a copy.")
]
SharedThreads = Annotated[
    int,
    typer.Option(min=0, help="CPU threads, divided among all workers; 0: at most four."),
]


def serve(
    models: Models,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    allowed_host: AllowedHosts = None,
    cors_origin: Origins = None,
    key_file: KeyFile = None,
    add_key: AddKey = "",
    no_auth: NoAuth = False,
    rate_limit: RateLimit = None,
    deadline: Deadline = ServerSettings.deadline,
    batch_capacity: BatchCapacity = ServerSettings.batch_capacity,
    queue_capacity: QueueCapacity = ServerSettings.queue_capacity,
    canary: Canaries = None,
    metrics_port: MetricsPort = None,
    trusted_proxy: TrustedProxies = None,
    workers: Workers = 1,
    device: Device = "auto",
    threads: SharedThreads = 0,
) -> None:
    """Serve translations over HTTP until Ctrl-C or SIGTERM.

    Only this machine can connect by default. For other machines give --host, or --trusted-proxy if
    they come through a proxy, with API keys; each client then has a rate limit. Of several models,
    a request chooses one by its name or by its languages.

    Example: dhyan serve en-hi
    """
    try:
        from dhyan.serving.server import Access, log_to
        from dhyan.serving.server import serve as run
        from dhyan.web.listen import ListenAddress, bind, check_origin
    except ModuleNotFoundError as missing:
        raise UserError(f"the server needs {missing.name}: pip install 'dhyan[serve]'") from None

    if add_key:
        _add_key(key_file, add_key)
        return
    address = ListenAddress(host, port, tuple(allowed_host or ()))
    proxies = tuple(map(_proxy, trusted_proxy or ()))
    remote = bool(proxies) or not address.is_loopback
    origins = frozenset(map(check_origin, cors_origin or ()))
    access = Access(address, _keys(address, key_file, no_auth, remote=remote), origins, proxies)
    settings = ServerSettings(
        rate_limit=_rate_limit(address, rate_limit, remote=remote),
        deadline=deadline,
        batch_capacity=batch_capacity,
        queue_capacity=queue_capacity,
    )
    check_models(*models)
    load = {"device": device, "threads": _threads_per_worker(threads, workers * len(models))}
    pools = _pools(models, canary or (), settings, load, workers)
    bound, metrics_socket = bind(address), None
    if metrics_port is not None:
        metrics_socket = bind(ListenAddress(port=metrics_port), "--metrics-port")
    log_to(warn)
    run(pools, bound, access, _announce, metrics_socket=metrics_socket)


def _pools(
    models: Sequence[str],
    canaries: Sequence[Path],
    settings: ServerSettings,
    load: Mapping[str, Any],
    workers: int = 1,
) -> "list[WorkerPool]":
    """The workers of each model, by its pretrained name or that of its folder."""
    from dhyan.serving.supervisor import WorkerPool

    names = [model if find_pretrained(model) else Path(model).absolute().name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f"two models are named {name}: requests could not choose one; "
                "rename a folder, or give a link to it with another name"
            )
    if canaries and len(canaries) != len(models):
        raise UserError(
            f"--canary: {len(canaries)} files for {len(models)} models; give one for each, in order"
        )
    files: Sequence[Path | None] = canaries or [None] * len(models)
    command = [sys.executable, "-m", WORKER]
    return [
        WorkerPool.build(
            command, {"folder": model, **load}, settings, _canary(file), name=name, workers=workers
        )
        for name, model, file in zip(names, models, files, strict=True)
    ]


def _threads_per_worker(threads: int, workers: int) -> int:
    """The threads of each worker; 0 leaves the choice to the only one."""
    if workers == 1:
        return threads
    total = threads or min(os.cpu_count() or 1, DEFAULT_THREADS)
    return max(1, total // workers)


def _proxy(address: str) -> str:
    """The address or network of a proxy, checked."""
    try:
        return str(
            ipaddress.ip_network(address) if "/" in address else ipaddress.ip_address(address)
        )
    except ValueError:
        raise UserError(
            f"--trusted-proxy {address}: not an IP address or network; give one such as 127.0.0.1 "
            "or 10.0.0.0/8"
        ) from None


def _announce(line: str) -> None:
    typer.echo(f"{line} (Ctrl-C to stop)")


def _add_key(path: Path | None, name: str) -> None:
    from dhyan.serving.access import add_key

    if path is None:
        raise UserError(f"--add-key {name}: name the file with --key-file FILE")
    typer.echo(add_key(path, name))
    warn(f"{path}: added an API key for {name}; the file has only its hash, so note the key")


def _keys(
    address: "ListenAddress", path: Path | None, no_auth: bool, *, remote: bool
) -> "ApiKeys | None":
    """The API keys that are required, if any."""
    from dhyan.serving.access import read_keys

    if no_auth and path:
        raise UserError("--no-auth and --key-file exclude each other; leave one out")
    if remote and not path and not no_auth:
        raise UserError(
            f"{_opening(address)} lets other machines connect: "
            "give --key-file FILE, or type --no-auth"
        )
    return read_keys(path) if path else None


def _opening(address: "ListenAddress") -> str:
    """The option that lets other machines connect."""
    return "--trusted-proxy" if address.is_loopback else f"--host {address.host}"


def _rate_limit(address: "ListenAddress", limit: float | None, *, remote: bool) -> float:
    """Characters per second of one client; if other machines can connect there is always a limit."""
    if not remote:
        return limit or 0.0
    if limit == 0:
        raise UserError(
            f"--rate-limit 0 {_opening(address)}: other machines need a rate limit; "
            f"give one, such as --rate-limit {REMOTE_RATE_LIMIT}"
        )
    return limit or REMOTE_RATE_LIMIT


def _canary(path: Path | None) -> "Canary":
    from dhyan.cli.translate_io import read_glossary
    from dhyan.serving.supervisor import Canary

    if path is None:
        return Canary()
    pairs = read_glossary(path)
    if not pairs:
        raise UserError(f"{path}: has no sentence; give a sentence, a tab and its translation")
    return Canary(tuple(pairs), tuple(pairs.values()))
