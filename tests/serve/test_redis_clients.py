"""The RESP door with Redis clients of other projects."""
import os
import pathlib
import pty
import shutil
import subprocess

import pytest

from support import environment, npm

HERE = pathlib.Path(__file__).resolve().parent / 'redis_clients'
BUILD = pathlib.Path(environment.BUILD)
TOKEN = 'a-token-of-some-length'
POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 10, window: 10s}
'''


@pytest.fixture
def port(serve):
    return serve(POLICIES, doors={'resp': '127.0.0.1:0'}).ports['resp']


@pytest.fixture
def guarded(serve, tmp_path):
    """The port of a server that requires TOKEN."""
    (tmp_path / 'token').write_text(TOKEN)
    return serve(POLICIES, doors={'resp': '127.0.0.1:0'},
                 arguments=('--token-file', tmp_path / 'token')).ports['resp']


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def redis_cli(port, *arguments, **options):
    return run('redis-cli', '-h', '127.0.0.1', '-p', port, *arguments, **options)


# ---- redis-cli

def test_redis_cli(port):
    assert redis_cli(port, 'CL.THROTTLE', 'user123', 15, 30, 60) == '0\n16\n15\n-1\n2\n'
    assert redis_cli(port, '-3', 'HELLO').startswith('server headgate\n')
    piped = redis_cli(port, input='PING\nCL.THROTTLE "user 123" 15 30 60\nnonsense\n')
    assert piped.startswith("PONG\n0\n16\n15\n-1\n2\nERR unknown command 'nonsense'")


def test_redis_cli_pipe(port):
    """Mass insertion, at whose end redis-cli sends an ECHO."""
    said = redis_cli(port, '--pipe', input='CL.THROTTLE k 9999 1 1000\n' * 5000)
    assert 'errors: 0, replies: 5000' in said
    assert redis_cli(port, 'CL.THROTTLE', 'k', 9999, 1, 1000, 0).split()[2] == '5000'


def test_redis_cli_with_a_token(guarded):
    assert redis_cli(guarded, '--no-auth-warning', '-a', TOKEN, 'PING') == 'PONG\n'
    assert 'NOAUTH' in redis_cli(guarded, 'PING')


def test_redis_cli_on_a_terminal(port):
    """On a terminal redis-cli first requests the documentation of all commands."""
    master, terminal = pty.openpty()
    with subprocess.Popen(['redis-cli', '-p', str(port)], stdin=terminal, stdout=terminal,
                          stderr=terminal, env=os.environ | {'TERM': 'dumb'},
                          start_new_session=True) as process:
        os.close(terminal)
        os.write(master, b'help CL.THROTTLE\nCL.THROTTLE k 15 30 60\nquit\n')
        said = b''
        while True:
            try:
                said += os.read(master, 65536)
            except OSError:  # the other side has closed it
                break
        assert process.wait(60) == 0, said
    os.close(master)
    said = said.decode()
    assert 'key max_burst count period [quantity]' in said
    assert '3) (integer) 15' in said


# ---- redis-benchmark

def test_redis_benchmark(port):
    for pipeline in (1, 16):
        said = run('redis-benchmark', '-p', port, '-c', 10, '-P', pipeline, '-n', 20000, '-r', 1000,
                   '-q', 'CL.THROTTLE', 'user:__rand_int__', 15, 30, 60)
        assert 'requests per second' in said and 'WARN' not in said


# ---- hiredis

def test_hiredis(port):
    assert run(BUILD / 'bin/hiredis_client', port) == 'ok\n'


# ---- npm

@pytest.fixture(scope='session')
def node():
    """Runs a script of redis_clients/, with the packages of its lock file."""
    try:
        home = npm.install(HERE, BUILD / 'tests/redis_clients')
    except npm.Unavailable as why:
        pytest.skip(str(why))
    return lambda *words: run('node', *words, cwd=home)


@pytest.mark.parametrize('version', [2, 3])
def test_npm_redis(node, guarded, version):
    assert node('redis.mjs', guarded, TOKEN, version) == 'ok\n'


def test_npm_ioredis(node, guarded):
    assert node('ioredis.mjs', guarded, TOKEN) == 'ok\n'


# ---- examples/redis-clients

def test_example():
    """The example prints what its README shows."""
    example = environment.ROOT / 'examples/redis-clients'
    shown = [line.removeprefix('    ') for line in
             (example / 'README.md').read_text().splitlines() if line.startswith('    ')][1:]
    said = run(example / 'run', environment.HEADGATE).splitlines()
    assert said[:len(shown)] == shown


STUB = """
const client = {connect() {}, sendCommand: async () => [1, 5, 4, 8000, 0], close() {}};
export const createClient = () => client;
"""


@pytest.mark.skipif(shutil.which('node') is None, reason='there is no node')
def test_example_finds_what_npm_put_into_its_folder(tmp_path):
    example = shutil.copytree(environment.ROOT / 'examples/redis-clients', tmp_path / 'example')
    package = example / 'node_modules/redis'
    package.mkdir(parents=True)
    (package / 'package.json').write_text('{"name": "redis", "type": "module", "exports": "./index.js"}')
    (package / 'index.js').write_text(STUB)
    said = run(example / 'run', environment.HEADGATE, cwd=tmp_path).splitlines()
    assert said[-7:] == [f'request {n}: admitted, 4 left' for n in range(1, 8)]


def test_example_in_node(node, serve):
    example = environment.ROOT / 'examples/redis-clients'
    shutil.copy2(example / 'limit.mjs', BUILD / 'tests/redis_clients')
    server = serve((example / 'headgate.yaml').read_text(), doors={'resp': '127.0.0.1:0'})
    said = node('limit.mjs', f'redis://127.0.0.1:{server.ports["resp"]}').splitlines()
    assert said[0] == 'request 1: admitted, 4 left'
    assert said[5].startswith('request 6: denied, wait ')
