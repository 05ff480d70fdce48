import pytest

from support.environment import LATE_MODULE, MODULE
from support.raw_server import Upstream


def pytest_collection_modifyitems(items):
    if MODULE == LATE_MODULE:
        items[:] = [item for item in items if not item.get_closest_marker('at_once')]


@pytest.fixture
def upstream():
    """upstream(answer) starts an upstream."""
    started = []

    def start(*args):
        started.append(Upstream(*args))
        return started[-1]

    yield start
    for server in started:
        server.close()
