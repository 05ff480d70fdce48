import pytest

from support.redis_server import RedisServer


@pytest.fixture
def redis(tmp_path):
    """Starts servers: redis('--requirepass', 'secret'), redis(module=True)."""
    started = []

    def start(*options, module=False):
        directory = tmp_path / f'r{len(started)}'
        directory.mkdir()
        started.append(RedisServer(directory, *options, module=module))
        return started[-1]

    yield start
    for server in started:
        server.stop()
