import pytest

from support.redis_server import RedisServer


@pytest.fixture
def redis(tmp_path):
    """Starts servers: redis('--requirepass', 'secret')."""
    started = []

    def start(*options):
        directory = tmp_path / f'r{len(started)}'
        directory.mkdir()
        started.append(RedisServer(directory, *options))
        return started[-1]

    yield start
    for server in started:
        server.stop()
