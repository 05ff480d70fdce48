"""headgate fetch over TLS: HTTP/2 where the server offers it, and certificates that are checked."""
import pytest

from support.certificates import Authority
from support.nginx import Nginx
from support.processes import free_port
from support.raw_server import Tunnels

POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 20, window: 1s}
'''
COUNT = 45  # more than the quota


@pytest.fixture(scope='module')
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp('certificates'))


@pytest.fixture
def nginx(tmp_path):
    """nginx(certificate, key, listen=' http2', server='') serves https://127.0.0.1:PORT."""
    started = []

    def start(certificate, key, listen=' http2', server=''):
        directory = tmp_path / f'nginx{len(started)}'
        directory.mkdir()
        port = free_port()
        running = Nginx(directory, POLICIES, server=f'''
            listen 127.0.0.1:{port} ssl{listen};
            ssl_certificate {certificate}; ssl_certificate_key {key};
            access_log tls.log tls;
            {server}
            location / {{ return 204; }}
            location = /plain {{ return 200 "words"; }}''',
            http="log_format tls '$server_protocol|$connection|$headgate_verdict';")
        started.append(running)
        running.start()
        running.url = f'https://127.0.0.1:{port}'
        running.tls_log = directory / 'tls.log'
        return running

    yield start
    for running in started:
        running.stop()


def seen(server):
    """The access log's fields: protocol, connection, verdict; of all requests."""
    server.stop()  # nginx writes a line after the response
    return [line.split('|') for line in server.tls_log.read_text().splitlines()]


def urls(server, count=COUNT):
    return [f'{server.url}/{i}' for i in range(count)]


@pytest.mark.parametrize('parallel', [1, 16])
def test_http2_is_used_where_it_is_offered(fetch, nginx, authority, parallel):
    server = nginx(*authority.sign('server'))
    got = fetch('--cacert', authority.file, '--parallel', parallel, *urls(server))
    assert got.code == 0 and (got.fetched, got.denied) == (COUNT, 0), got
    lines = seen(server)
    assert [line[0] for line in lines] == ['HTTP/2.0'] * COUNT
    assert len({line[1] for line in lines}) == 1  # all on one connection


def test_http_1_where_it_is_not(fetch, nginx, authority):
    server = nginx(*authority.sign('server'), listen='')
    got = fetch('--cacert', authority.file, '--parallel', 16, *urls(server))
    assert got.code == 0 and (got.fetched, got.denied) == (COUNT, 0), got
    assert [line[0] for line in seen(server)] == ['HTTP/1.1'] * COUNT


def test_a_server_that_ends_its_connections(fetch, nginx, authority):
    server = nginx(*authority.sign('server'), server='keepalive_requests 7;')
    got = fetch('--cacert', authority.file, '--parallel', 16, *urls(server))
    assert got.code == 0 and (got.fetched, got.denied, got.failed) == (COUNT, 0, 0), got
    assert len({line[1] for line in seen(server)}) >= COUNT // 7


def test_a_server_that_ends_its_connections_behind_a_proxy(fetch, nginx, authority):
    """libcurl 7.88 fails requests that wait while another one's tunnel is made; later ones may not."""
    server = nginx(*authority.sign('server'), server='keepalive_requests 7;')
    with Tunnels() as proxy:
        got = fetch('--cacert', authority.file, '--parallel', 4, *urls(server),
                    environment={'https_proxy': proxy.url, 'no_proxy': ''})
    assert got.code == 0 and (got.fetched, got.denied, got.failed) == (COUNT, 0, 0), got


def test_bodies_over_http2(fetch, nginx, authority):
    server = nginx(*authority.sign('server'))
    got = fetch('--cacert', authority.file, f'{server.url}/plain', f'{server.url}/plain')
    assert got.code == 0 and got.out == b'wordswords', got


def refused(server, words, *results):
    for got in results:
        assert got.code == 1 and (got.fetched, got.failed) == (0, 2), got
        said = got.err.decode()
        assert f'{server.url}/0: ' in said and words in said.lower(), got
    assert not [line for line in seen(server) if line[0] != '-']  # no request arrived


def test_a_certificate_of_an_unknown_authority_is_refused(fetch, nginx, authority, tmp_path):
    server = nginx(*authority.sign('server'))
    other = Authority(tmp_path, 'other')
    refused(server, 'certificate', fetch(*urls(server, 2)),
            fetch('--cacert', other.file, *urls(server, 2)))


def test_a_certificate_for_another_name_is_refused(fetch, nginx, authority):
    server = nginx(*authority.sign('elsewhere', 'DNS:elsewhere.example'))
    refused(server, "'127.0.0.1'", fetch('--cacert', authority.file, *urls(server, 2)))


def test_a_certificate_that_has_expired_is_refused(fetch, nginx, authority):
    server = nginx(*authority.sign('late', has_expired=True))
    refused(server, 'expired', fetch('--cacert', authority.file, *urls(server, 2)))


def test_a_server_without_tls_is_a_failure_with_words(fetch, nginx, authority):
    server = nginx(*authority.sign('server'))
    server.url = f'https://127.0.0.1:{server.port}'  # the port without TLS
    refused(server, 'ssl', fetch('--cacert', authority.file, *urls(server, 2)))


@pytest.mark.parametrize('content', [None, '', 'no certificate\n'], ids=['missing', 'empty', 'text'])
def test_a_file_without_certificates_is_refused_at_once(fetch, tmp_path, content):
    if content is not None:
        (tmp_path / 'ca.crt').write_text(content)
    got = fetch('--cacert', 'ca.crt', 'https://127.0.0.1:1/')
    assert got.code == 1 and 'ca.crt' in got.err.decode() and got.summary is None, got
