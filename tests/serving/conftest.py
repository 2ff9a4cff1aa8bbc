"""One server for all tests that leave it as it was."""

import pytest

from tests.serving.running_server import served


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """A model that takes a millisecond, for this machine alone."""
    with served(tmp_path_factory.mktemp("serving"), load={"per_text": 0.001}) as running:
        yield running
