import pytest

from support.environment import LATE_MODULE, MODULE
from support.nginx import Nginx
from support.raw_server import Upstream


def pytest_collection_modifyitems(items):
    if MODULE == LATE_MODULE:
        items[:] = [item for item in items if not item.get_closest_marker('at_once')]


@pytest.fixture
def nginx(tmp_path):
    """nginx(policies, server=..., ...) starts one. At the end all are stopped, and none may have logged a crash."""
    started = []

    def start(policies, *args, run=True, **kwargs):
        directory = tmp_path / f'nginx{len(started)}'
        directory.mkdir()
        server = Nginx(directory, policies, *args, **kwargs)
        started.append(server)
        return server.start() if run else server

    yield start
    for server in started:
        server.stop()
        for bad in ('exited on signal', 'core dumped', '[alert]'):
            lines = [line for line in server.log.splitlines() if bad in line]
            assert not lines or getattr(server, 'expect_death', False), lines


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
