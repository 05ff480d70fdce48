"""The library, installed into a directory of its own, and the examples built with it and run."""
import http.client
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'examples'
BUILD = os.environ['HEADGATE_BUILD']


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=250, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    place = tmp_path_factory.mktemp('prefix')
    run('cmake', '--install', BUILD, '--prefix', place, '--component', 'library')
    return place


def built(example, prefix, tmp_path):
    run('cmake', '-S', EXAMPLES / example, '-B', tmp_path, f'-DCMAKE_PREFIX_PATH={prefix}',
        '-DCMAKE_BUILD_TYPE=Debug')
    run('cmake', '--build', tmp_path)
    return tmp_path


def expect_three_of_four(output):
    lines = output.splitlines()
    assert [line for line in lines if not line.startswith(' ')] == [
        'admitted', 'admitted', 'admitted', 'denied, try again in 10 s']
    assert '  RateLimit-Policy: "burst";q=3;w=30, "daily";q=1000;w=86400' in lines
    assert '  RateLimit: "burst";r=2;t=20, "daily";r=999;t=86314' in lines
    assert lines[-1] == '  Retry-After: 10'


def test_the_c_example_by_cmake(prefix, tmp_path):
    program = built('c', prefix, tmp_path) / 'limit'
    expect_three_of_four(run(program, EXAMPLES / 'c/headgate.yaml', 'alice', 4))


def test_the_c_example_by_compiler_and_pkg_config(prefix, tmp_path):
    where = next(prefix.rglob('headgate.pc')).parent
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(where),
                   'LD_LIBRARY_PATH': str(where.parent)}
    flags = run('pkg-config', '--cflags', '--libs', 'headgate', env=environment).split()
    program = tmp_path / 'limit'
    run('gcc', '-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-o', program,
        EXAMPLES / 'c/limit.c', *flags)
    expect_three_of_four(run(program, EXAMPLES / 'c/headgate.yaml', 'alice', 4, env=environment))


def test_the_shared_library_shows_its_interface_alone(prefix):
    library = next(prefix.rglob('libheadgate.so'))
    symbols = run('nm', '--dynamic', '--defined-only', '--format=posix', library).splitlines()
    names = {line.split()[0] for line in symbols if line.split()[1] in 'TDBR'}
    assert names and all(name.startswith('headgate_') for name in names), names


def test_the_server_example(prefix, tmp_path):
    program = built('library', prefix, tmp_path) / 'limited_server'
    shutil.copy(EXAMPLES / 'library/headgate.yaml', tmp_path)
    server = subprocess.Popen([program, 'headgate.yaml', '0'], cwd=tmp_path,
                              stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().strip().rstrip('/').rsplit(':', 1)[1])
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)

        def request(method):
            connection.request(method, '/')
            response = connection.getresponse()
            return response.status, response.getheader('RateLimit'), response.read()

        assert request('GET') == (200, '"burst";r=4;t=8', b'hello\n')
        assert request('POST')[:2] == (200, '"burst";r=3;t=6, "writes";r=1;t=30')
        assert request('POST')[0] == 200
        status, field, body = request('POST')
        assert status == 429 and '"writes";r=0;' in field and b'"writes"' in body
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
