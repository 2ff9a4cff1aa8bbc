"""A folder of tiny pretrained models, in the place of the package's."""

import pytest

from dhyan.pretrained import VARIABLE
from tests.pretrained.packed_models import write_all


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("pretrained"))


@pytest.fixture
def models(packed, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(packed))
    return packed
