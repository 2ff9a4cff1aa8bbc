"""A cache of its own for the tests that name foreign folders as models."""

import pytest

from dhyan.interop.import_cache import VARIABLE


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """The cache of imported folders."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache, monkeypatch):
    """No test writes into the home folder."""
    monkeypatch.setenv(VARIABLE, str(cache))
