"""Four small models that have learnt a little, and a client of a page that has them."""

import pytest
from fastapi.testclient import TestClient

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from tests.studio.small_models import models as models  # a fixture


@pytest.fixture(scope="module")
def client(models):
    """Asks as the page does."""
    return TestClient(make_app(ModelRegistry(models)), base_url="http://127.0.0.1")
