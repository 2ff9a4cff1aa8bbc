"""One server for all tests that do not change it."""

import pytest

from tests.serving.running_server import running_server


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """A worker with a latency of one millisecond per text."""
    with running_server(tmp_path_factory.mktemp("serving"), load={"per_text": 0.001}) as running:
        yield running
