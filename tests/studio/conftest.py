"""Four small models that have learnt a little, and a client of a page that has them."""

import pytest
from fastapi.testclient import TestClient
from filelock import FileLock

from dhyan.studio.app import make_app
from dhyan.studio.registry import Shelf
from tests.studio.small_models import NAMES, train_small


@pytest.fixture(scope="session")
def models(tmp_path_factory, worker_id):
    """The folders of the models, in the ladder's order; trained once for all test processes."""
    own = tmp_path_factory.getbasetemp()
    root = (own if worker_id == "master" else own.parent) / "studio-models"
    with FileLock(f"{root}.lock"):
        if not root.exists():
            train_small(root)
    return [root / name for name in NAMES.values()]


@pytest.fixture(scope="module")
def client(models):
    """Asks as the page does."""
    return TestClient(make_app(Shelf(models)), base_url="http://127.0.0.1")
