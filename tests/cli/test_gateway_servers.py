"""headgate gateway with TLS towards clients, with TLS towards upstreams, with several upstreams, and installed."""
import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess

import pytest

from conftest import WIDE
from support import http2
from support.certificates import Authority
from support.environment import BUILD, PATIENCE
from support.gateway import Echo
from support.processes import find_program, free_port, until
from support.raw_server import RawServer, response

NARROW = 'version: 1\npolicies: [{name: narrow, quota: 3, window: 1h}]\n'


@pytest.fixture
def authority(directory):
    return Authority(directory)


@pytest.fixture
def secure(gateway, authority):
    """secure(policies, ...) starts a gateway with a certificate for 127.0.0.1."""
    certificate, key = authority.sign('gateway')
    return lambda policies=WIDE, *arguments, **options: gateway(
        policies, '--tls-cert', certificate, '--tls-key', key, *arguments, **options)


@pytest.fixture
def echoes():
    """echoes(certificate, key) starts an upstream with TLS."""
    started = []

    def start(*certificate):
        context = None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
        started.append(Echo(context))
        return started[-1]
    yield start
    for one in started:
        one.close()


def curl(gateway, authority, path='/', *arguments):
    """[version of HTTP, status, header section and body]"""
    done = subprocess.run(
        ['curl', '-sS', '-i', '--cacert', str(authority.file), '--noproxy', '*', '--max-time', str(PATIENCE),
         '-w', '\n%{http_version} %{http_code}', *arguments, f'https://127.0.0.1:{gateway.port}{path}'],
        capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stderr
    text, _, last = done.stdout.rpartition('\n')
    return [*last.split(), text]


# ---- TLS and HTTP/2 for clients

def test_clients_get_tls_and_http2(secure, authority):
    one = secure(NARROW)
    version, status, text = curl(one, authority)
    assert (version, status) == ('2', '200')
    assert 'ratelimit: "narrow";r=2;t=' in text
    assert '"x-forwarded-proto": ["https"]' in text
    assert f'"host": ["127.0.0.1:{one.port}"]' in text
    version, status, text = curl(one, authority, '/', '--http1.1', '--data', 'some body')
    assert (version, status) == ('1.1', '200') and '"body_bytes": 9' in text
    assert curl(one, authority, '/', '--tls-max', '1.2')[1] == '200'
    version, status, text = curl(one, authority)
    assert (version, status) == ('2', '429') and 'retry-after: ' in text
    assert one.stop() == 0


def test_http2_has_no_upgrades(secure, authority):
    one = secure()
    assert http2.status(one.port, headers=[('Upgrade', 'websocket')], authority=authority.file) == 200
    assert one.stop() == 0
    assert not [line for line in one.errors.rest() if 'alert' in line]


def test_old_versions_of_tls_are_refused(secure):
    one = secure()
    assert len(one.errors.seen) == 1, 'nginx complains of its configuration'
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(('127.0.0.1', one.port), PATIENCE) as connection:
        with pytest.raises(OSError):
            context.wrap_socket(connection)


def test_a_reload_reads_the_certificate_again(secure, authority, directory):
    one = secure(WIDE, '--metrics', '127.0.0.1:0')
    before = ssl.get_server_certificate(('127.0.0.1', one.port))
    authority.sign('gateway')
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    after = ssl.get_server_certificate(('127.0.0.1', one.port))
    assert after != before
    (directory / 'gateway.crt').write_text('no certificate')
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reload refused')
    until(lambda: one.metrics()['headgate_refused_reloads_total'] == 1, 'it is counted')
    assert ssl.get_server_certificate(('127.0.0.1', one.port)) == after


@pytest.mark.parametrize('name', ('gateway.crt', 'gateway.key'))
def test_a_reload_waits_for_no_pipe(secure, directory, name):
    one = secure(WIDE, '--metrics', '127.0.0.1:0')
    file = directory / name
    text = file.read_text()
    file.unlink()
    os.mkfifo(file)
    one.send(signal.SIGHUP)
    one.errors.until(f'^headgate: {file}: is no regular file; expected one in PEM format$')
    one.errors.until('^headgate: reload refused')
    until(lambda: one.metrics()['headgate_refused_reloads_total'] == 1, 'it is counted')
    file.unlink()
    file.write_text(text)
    one.send(signal.SIGHUP)
    one.errors.until('^headgate: reloaded')
    assert one.stop() == 0
    assert not [line for line in one.errors.rest() if 'unexpected end' in line]


def test_signals_for_a_reload_may_come_while_it_starts(secure, directory, monkeypatch):
    """As from a program that watches the policy file, or rotates logs: here when nginx' version is asked for."""
    program = directory / 'nginx'
    program.write_text(f"""#!/bin/sh
if [ "$1" = -v ]; then kill -HUP $PPID; kill -USR1 $PPID; fi
exec {find_program('nginx')} "$@"
""")
    program.chmod(0o755)
    monkeypatch.setenv('PATH', f'{directory}:{os.environ["PATH"]}')
    one = secure()
    one.errors.until('^headgate: reloaded')
    assert one.stop() == 0


def test_tls_needs_files_that_fit(fails, authority, directory):
    certificate, key = authority.sign('a')
    _, other = authority.sign('b')
    status, said = fails(WIDE, '--tls-cert', certificate)
    assert status == 2 and '--tls-key' in said
    status, said = fails(WIDE, '--tls-cert', certificate, '--tls-key', directory / 'none.key')
    assert status == 1 and said.startswith(f'headgate: {directory}/none.key: ')
    status, said = fails(WIDE, '--tls-cert', certificate, '--tls-key', other)
    assert status == 1 and str(other) in said
    status, said = fails(WIDE, '--tls-cert', certificate, '--tls-key', directory / '$a.key')
    assert status == 2 and 'nginx takes what follows a $ for a variable' in said


# ---- TLS to upstreams

def named(upstream):
    return upstream.url.replace('127.0.0.1', 'localhost')


def test_an_https_upstream_is_verified(gateway, echoes, authority):
    upstream = echoes(*authority.sign('upstream', 'DNS:localhost'))
    one = gateway(WIDE, '--upstream-ca', authority.file, url=named(upstream))
    assert one.seen_upstream()['headers']['x-forwarded-proto'] == ['http']


def test_an_https_upstream_of_another_authority_or_name_gets_no_request(gateway, echoes, authority, directory):
    stranger = Authority(directory, 'stranger')
    for certificate in (stranger.sign('strange', 'DNS:localhost'), authority.sign('misnamed', 'DNS:api.example')):
        upstream = echoes(*certificate)
        one = gateway(WIDE, '--upstream-ca', authority.file, url=named(upstream))
        assert one.request().status == 502
        assert upstream.paths == []
        one.end()


def test_the_systems_authorities_count_otherwise(gateway, echoes, authority):
    upstream = echoes(*authority.sign('upstream', 'DNS:localhost'))
    assert gateway(WIDE, url=named(upstream)).request().status == 502
    assert upstream.paths == []


def test_missing_authorities_are_told(fails, directory):
    status, said = fails(WIDE, '--upstream-ca', directory / 'none', url='https://127.0.0.1:1')
    assert status == 1
    assert said.startswith('headgate: an https upstream needs the certificates that it is held against: '
                           f'{directory}/none: No such file')


def test_authorities_without_an_https_upstream_are_wrong_usage(fails, directory):
    status, said = fails(WIDE, '--upstream-ca', directory / 'none', url='http://127.0.0.1:1')
    assert status == 2
    assert said.startswith('headgate: --upstream-ca is for https upstreams, but --upstream begins with http://')


def test_authorities_in_a_pipe_are_not_waited_for(fails, directory):
    os.mkfifo(directory / 'pipe')
    status, said = fails(WIDE, '--upstream-ca', directory / 'pipe', url='https://127.0.0.1:1')
    assert status == 1
    assert f'{directory}/pipe: is no regular file' in said


def test_a_reload_does_not_wait_for_them_either(gateway, authority):
    one = gateway(WIDE, '--upstream-ca', authority.file, url='https://127.0.0.1:1')
    authority.file.unlink()
    os.mkfifo(authority.file)
    one.send(signal.SIGHUP)
    one.errors.until(f'{authority.file}: is no regular file')
    one.errors.until('^headgate: reload refused')
    assert one.stop() == 0


# ---- several upstreams

def test_upstreams_take_turns(gateway, echoes):
    first, second = echoes(), echoes()
    one = gateway(WIDE, url=[first.url + '/base', second.url + '/base/'])
    for n in range(8):
        assert one.request(path=f'/{n}').status == 200
    assert sorted(first.paths + second.paths) == [f'/base/{n}' for n in range(8)]
    assert len(first.paths) == len(second.paths) == 4


def test_there_may_be_hundreds_of_upstreams(gateway, upstream):
    one = gateway(WIDE, url=[upstream.url, *(f'http://127.0.0.1:{port}' for port in range(1, 500))])
    assert one.request().status == 200  # by the first one


def test_an_upstream_that_is_gone_is_left_out_and_a_request_counted_once(gateway, echoes):
    here = echoes()
    one = gateway(NARROW, url=[f'http://127.0.0.1:{free_port()}', here.url])
    assert [one.request().status for _ in range(4)] == [200, 200, 200, 429]
    assert len(here.paths) == 3


@pytest.mark.parametrize('bad, tries', (
    (None, 2), (response(fields=[('A', 'x' * 33_000)]), 1)), ids=('no answer', 'too long a head'))
def test_a_request_that_upstreams_do_not_answer_takes_them_from_nobody(gateway, bad, tries):
    def answer(path, *_):
        return bad if path == '/bad' else response()
    with RawServer(answer) as first, RawServer(answer) as second:
        one = gateway(url=[first.url, second.url])
        assert one.request(path='/bad').status == 502
        assert len(first.paths + second.paths) == tries
        for _ in range(4):
            assert one.request().status == 200
            assert one.request('POST', '/bad', body=b'x').status == 502


@pytest.mark.parametrize('url, words', (
    (['http://a', 'https://a'], 'expected the scheme of the first upstream, http://a'),
    (['http://a/v1', 'http://b/v2'], 'expected the path of the first upstream, http://a/v1'),
    (['https://a', 'https://b'], 'expected the host of the first upstream, https://a'),
    (['http://a', 'b'], 'expected http://HOST')), ids=str)
def test_upstreams_that_do_not_fit_together(fails, url, words):
    status, said = fails(url=url)
    assert status == 2
    assert said.startswith(f'headgate: --upstream "{url[1]}": ') and words in said


@pytest.fixture
def silent():
    """The URL of a server that accepts no connection, as that of a machine that is gone: its backlog is full."""
    with contextlib.ExitStack() as open_ones:
        server = open_ones.enter_context(socket.create_server(('127.0.0.1', 0), backlog=0))
        for _ in range(4):
            client = open_ones.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield f'http://127.0.0.1:{server.getsockname()[1]}'


def test_an_upstream_that_accepts_no_connection_is_given_up(gateway, silent, upstream):
    one = gateway(WIDE, '--response-timeout', '500ms', url=silent)
    assert one.request().status == 504
    one.end()
    one = gateway(WIDE, '--response-timeout', '500ms', url=[silent, upstream.url])
    assert [one.request().status for _ in range(4)] == [200] * 4


# ---- installed

def test_an_installed_gateway_finds_its_module(gateway, directory):
    place = directory / 'installed'
    done = subprocess.run(['cmake', '--install', BUILD, '--prefix', place, '--component', 'command'],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    without = ('env', '-u', 'HEADGATE_MODULE')
    one = gateway(WIDE, prefix=without, program=place / 'bin/headgate')
    assert one.request().headers['RateLimit'].startswith('"wide";r=999')
    one.end()
    # Also where it lies beside the program's folder, as in a build.
    (place / 'modules').mkdir()
    shutil.move(next(place.glob('lib*/**/ngx_http_headgate_module.so')), place / 'modules')
    one = gateway(WIDE, prefix=without, program=place / 'bin/headgate')
    assert one.request().status == 200
    assert os.path.realpath(f'/proc/{one.process.pid}/exe') == str(place / 'bin/headgate')
