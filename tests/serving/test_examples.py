"""The files of examples/serving: their syntax and schemas, and options that exist."""

import json
import re
import shlex
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import kubernetes_validate
import pytest
import typer
from jsonschema import ValidationError
from jsonschema.validators import validator_for
from ruamel.yaml import YAML

from dhyan.cli import app
from dhyan.serving.settings import MAX_DEADLINE, ServerSettings
from dhyan.web.listen import ConnectionLimits, ListenAddress
from tests.serving.running_server import ROOT

FOLDER = ROOT / "examples" / "serving"
INSTRUCTIONS = {
    "FROM", "SHELL", "RUN", "ENV", "WORKDIR", "COPY", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
    "ENTRYPOINT", "CMD",
}  # fmt: skip
KUBERNETES = "1.33.0"
PROBES = {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/livez"}


def instructions():
    """The instructions of the Dockerfile, each with its arguments."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(), flags=re.MULTILINE)
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line:
            name, _, arguments = line.partition(" ")
            yield name, arguments


def parse(arguments):
    """Parse the arguments of `dhyan serve`; a wrong one raises an error."""
    command = typer.main.get_command(app).commands["serve"]
    return command.make_context("serve", list(arguments)).params


def unit_command():
    [command] = re.findall(r"^ExecStart=(.*)", (FOLDER / "dhyan.service").read_text(), re.MULTILINE)
    return shlex.split(command)


def test_the_units_command_is_valid():
    program, name, *arguments = unit_command()
    assert program.endswith("/dhyan")
    assert name == "serve"
    parameters = parse(arguments)
    assert parameters["key_file"]
    assert parameters["host"] == "127.0.0.1"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path):
    unit = tmp_path / "dhyan.service"
    text = (FOLDER / "dhyan.service").read_text()
    unit.write_text(text.replace(unit_command()[0], "/bin/true"))
    process = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True
    )
    warnings = [line for line in process.stderr.splitlines() if unit.name in line]
    assert (process.returncode, warnings) == (0, [])


def stages():
    """The stages of the Dockerfile by name: their base and their instructions."""
    found = {}
    for name, arguments in instructions():
        if name == "FROM":
            base, _, stage = arguments.split()
            found[stage] = (base, own := [])
        else:
            own.append((name, arguments))
    return found


def test_the_dockerfile_has_only_known_instructions_and_stages():
    assert {name for name, _ in instructions()} <= INSTRUCTIONS
    bases = {base for base, _ in stages().values()} - stages().keys()
    assert bases == {"python:3.12-slim"}
    sources = re.findall(r"--from=(\S+)", (FOLDER / "Dockerfile").read_text())
    assert {*sources} <= stages().keys()
    assert [*stages()][-1] == "engine"  # what is built without --target


def test_the_build_context_has_what_is_copied():
    copied = [shlex.split(rest)[:-1] for name, rest in instructions() if name == "COPY"]
    for path in (path for paths in copied for path in paths if not path.startswith(("-", "/"))):
        assert (ROOT / path).exists(), path
        assert f"!{path}\n" in (FOLDER / "Dockerfile.dockerignore").read_text()


def test_the_image_without_pytorch_has_the_packages_of_the_guide():
    guide = (ROOT / "docs" / "how-to" / "on-a-cpu.md").read_text()
    lines = re.findall(r"^pip install ((?!--no-deps).*)", guide, re.MULTILINE)
    packages = {package for line in lines for package in line.split()}
    [install] = [rest for name, rest in stages()["packages"][1] if name == "RUN"]
    words = install.partition("&&")[0].split()
    assert packages == {*words[words.index("constraints.txt") + 1 :]}


def test_the_containers_command_is_valid():
    parts = dict(stages()["server"][1])
    assert json.loads(parts["ENTRYPOINT"]) == ["dhyan", "serve"]
    parameters = parse(json.loads(parts["CMD"]))
    assert parts["EXPOSE"] == str(parameters["port"])
    assert f":{parameters['port']}/readyz" in parts["HEALTHCHECK"]
    assert parameters["key_file"]
    assert parts["USER"] != "root"


def compose():
    return YAML(typ="safe", pure=True).load((FOLDER / "compose.yaml").read_text())


def test_the_compose_file_follows_its_specification():
    vendor = distribution("check-jsonschema").locate_file("check_jsonschema/builtin_schemas/vendor")
    schema = json.loads((vendor / "compose-spec.json").read_text())
    validator = validator_for(schema)(schema)
    validator.validate(compose())
    with pytest.raises(ValidationError):
        validator.validate({"services": {"dhyan": {"comand": []}}})


def test_the_compose_file_starts_what_is_there():
    services = compose()["services"]
    build = services["dhyan"]["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).exists()
    assert build["target"] in stages()
    parameters = parse(services["dhyan"]["command"])
    assert parameters["key_file"] == Path("/run/secrets/keys")
    [mount] = services["proxy"]["volumes"]
    assert (FOLDER / mount.partition(":")[0]).exists()
    upstream = f"server dhyan:{parameters['port']} "
    assert upstream in (FOLDER / "nginx.conf").read_text()
    stops = int(services["dhyan"]["stop_grace_period"].removesuffix("s"))
    assert stops > ServerSettings.drain_timeout


def manifest():
    """The resources of the manifest by kind."""
    documents = YAML(typ="safe", pure=True).load_all((FOLDER / "kubernetes.yaml").read_text())
    return {document["kind"]: document for document in documents}


def test_the_manifest_follows_the_schemas_of_kubernetes():
    resources = manifest()
    for resource in resources.values():
        kubernetes_validate.validate(resource, KUBERNETES, strict=True)
    resources["Service"]["spec"]["port"] = 80
    with pytest.raises(kubernetes_validate.ValidationError, match="'port' was unexpected"):
        kubernetes_validate.validate(resources["Service"], KUBERNETES, strict=True)


def test_the_manifest_fits_the_server_and_itself():
    resources = manifest()
    template = resources["Deployment"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    parameters = parse(container["args"])
    [port] = container["ports"]
    assert port["containerPort"] == parameters["port"]
    hosts = ListenAddress(parameters["host"], parameters["port"]).allowed_hosts(
        port["containerPort"]
    )
    for probe, path in PROBES.items():
        request = container[probe]["httpGet"]
        [header] = request["httpHeaders"]
        assert header["value"] in hosts
        assert (request["path"], request["port"]) == (path, port["name"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert parameters["key_file"].parent == Path(mounts["keys"])
    assert {volume["name"] for volume in template["spec"]["volumes"]} == {*mounts}
    grace = template["spec"]["terminationGracePeriodSeconds"]
    notice = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert grace > notice + ServerSettings.drain_timeout
    for kind in ("Service", "PodDisruptionBudget"):
        selector = resources[kind]["spec"]["selector"]
        labels = selector.get("matchLabels", selector)
        assert labels.items() <= template["metadata"]["labels"].items()
    assert resources["Service"]["metadata"]["name"] in parameters["allowed_host"]


def test_proxies_wait_longer_than_any_deadline():
    nginx, caddy = ((FOLDER / name).read_text() for name in ("nginx.conf", "Caddyfile"))
    for text, read in ((nginx, "proxy_read_timeout"), (caddy, "response_header_timeout")):
        assert int(re.findall(rf"{read} (\d+)s", text)[0]) > MAX_DEADLINE
        [keep_alive] = re.findall(r"keepalive(?:_timeout)? (\d+)s", text)
        assert int(keep_alive) < ConnectionLimits.keep_alive_timeout
