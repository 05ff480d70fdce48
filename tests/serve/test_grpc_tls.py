"""TLS at the gRPC door, with gRPC's client for Node.js and frame by frame."""
import shutil
import signal
import ssl

import pytest

from support.certificates import Authority
from support.frames import RATE_LIMIT, Http2
from support.grpc_door import POLICIES, REQUEST


@pytest.fixture
def secure(serve, files):
    def start(*arguments):
        return serve(POLICIES, doors={'grpc': '127.0.0.1:0'},
                     arguments=('--threads', '1', '--tls-cert', files[0], '--tls-key', files[1],
                                *arguments))
    return start


def connect(server, authority, protocols=('h2',), **certificate):
    """A connection over TLS that offers these protocols (ALPN)."""
    context = ssl.create_default_context(cafile=authority.file)
    if protocols:
        context.set_alpn_protocols(protocols)
    if certificate:
        context.load_cert_chain(**certificate)
    return Http2(server.addresses['grpc'],
                 wrap=lambda plain: context.wrap_socket(plain, server_hostname='127.0.0.1'))


def test_a_client_of_grpc(secure, authority, envoy_client):
    envoy = envoy_client(secure().addresses['grpc'], authority.file)
    response = envoy.decide('policy=burst,key=x', domain='headgate')
    assert response['overall_code'] == 'OK'


def test_a_client_that_does_not_trust_the_certificate(secure, tmp_path, envoy_client):
    envoy = envoy_client(secure().addresses['grpc'], Authority(tmp_path, 'other').file)
    assert envoy.call('Check', {})['error'] == 'UNAVAILABLE'


@pytest.mark.parametrize('protocols', [['h2'], ['http/1.1', 'h2'], []])
def test_protocols(secure, authority, protocols):
    with connect(secure(), authority, protocols) as client:
        assert client.socket.selected_alpn_protocol() == ('h2' if protocols else None)
        assert client.call(RATE_LIMIT, REQUEST).status == 0


def test_a_client_that_does_not_speak_http2(secure, authority):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect(secure(), authority, ['http/1.1'])


def test_a_client_without_tls(secure):
    with Http2(secure().addresses['grpc']) as client:
        assert client.to_the_end() is None and not client.settings


def test_a_client_needs_a_certificate(secure, authority):
    server = secure('--client-ca', authority.file)
    cert, key = authority.sign('client')
    with connect(server, authority, certfile=cert, keyfile=key) as client:
        assert client.call(RATE_LIMIT, REQUEST).status == 0
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        with connect(server, authority) as client:
            client.call(RATE_LIMIT, REQUEST)


def test_another_certificate_is_in_force_after_sighup(secure, authority, files):
    server = secure()
    with connect(server, authority) as old:
        before = old.socket.getpeercert(binary_form=True)
        for new, file in zip(authority.sign('another'), files):
            shutil.copy(new, file)
        server.process.send_signal(signal.SIGHUP)
        server.until('tokens and certificates were read again')
        with connect(server, authority) as client:
            assert client.socket.getpeercert(binary_form=True) != before
            assert client.call(RATE_LIMIT, REQUEST).status == 0
        assert old.call(RATE_LIMIT, REQUEST).status == 0, 'open connections stay'
