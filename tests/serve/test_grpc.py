"""HTTP/2 and gRPC's framing at the gRPC door, frame by frame."""
import signal
import struct

import pytest

from support.frames import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GOAWAY, HEADERS, HEALTH,
    MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE, PING, PROTOCOL_ERROR, RATE_LIMIT, Http2, Response, frame,
    head_of_call, message, nested, rate_limit_request, reset, settings,
    window_update)
from support.grpc_door import POLICIES, REQUEST, TOKEN

ADMITTED = b'\x08\x01'  # how a RateLimitResponse begins: overall_code OK
OVER_LIMIT = b'\x08\x02'  # the whole of one without statuses
SERVING, NOT_SERVING, SERVICE_UNKNOWN = b'\x08\x01', b'\x08\x02', b'\x08\x03'
OK, NOT_FOUND, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAUTHENTICATED = 0, 5, 8, 12, 13, 16


@pytest.fixture
def server(serve):
    return serve(POLICIES, doors={'grpc': '127.0.0.1:0'}, arguments=('--threads', '1'))


@pytest.fixture
def client(server):
    with Http2(server.addresses['grpc']) as connection:
        yield connection


def test_a_call(client):
    response = client.call(RATE_LIMIT, REQUEST)
    assert response.heads == [{':status': '200', 'content-type': 'application/grpc'},
                              {'grpc-status': '0'}]
    assert [body[:2] for body in response.messages] == [ADMITTED]
    assert client.settings[MAX_CONCURRENT_STREAMS] == 1024
    assert client.settings[MAX_HEADER_LIST_SIZE] == 16384


def test_a_call_in_single_bytes(client):
    stream = client.open(head_of_call(RATE_LIMIT))
    for byte in message(REQUEST):
        client.send(frame(DATA, 0, stream, bytes([byte])))
    client.send(frame(DATA, END_STREAM, stream))
    assert client.finish(stream).status == OK


def test_a_head_in_several_frames(client):
    head = head_of_call(RATE_LIMIT)
    client.open(head[:10], flags=0)
    for at in range(10, len(head), 30):
        client.send(frame(CONTINUATION, END_HEADERS if at + 30 >= len(head) else 0, 1,
                          head[at:at + 30]))
    client.send(frame(DATA, END_STREAM, 1, message(REQUEST)))
    assert client.finish(1).status == OK


def test_many_calls_at_once(client):
    streams = [client.start(RATE_LIMIT, REQUEST) for _ in range(1000)]
    assert {client.finish(stream).status for stream in streams} == {OK}


@pytest.mark.parametrize('payload, status', [
    (b'', UNIMPLEMENTED),                              # no message
    (b'\0\0\0', INTERNAL),                             # half a prefix
    (message(REQUEST)[:-1], INTERNAL),
    (message(REQUEST) + b'\0', UNIMPLEMENTED),         # more than one
    (message(REQUEST) * 2, UNIMPLEMENTED),
    (message(REQUEST, compressed=1), INTERNAL),        # though no encoding is named
    (message(b'\xff\xff'), INTERNAL),                  # no protobuf
])
def test_messages_that_are_refused(client, payload, status):
    stream = client.open(head_of_call(RATE_LIMIT))
    client.send(frame(DATA, END_STREAM, stream, payload))
    response = client.finish(stream)
    assert response.status == status
    assert len(response.heads) == 1 and response.data == b'', 'trailers only'
    assert response.fields['grpc-message']
    assert client.call(RATE_LIMIT, REQUEST).status == OK, 'and the connection goes on'


@pytest.mark.parametrize('size', [65537, 0xffffffff])
def test_a_message_that_is_too_long_is_denied(client, size):
    """Envoy's clients decide how long it is, and Envoy admits a request whose call fails."""
    prefix = struct.pack('>BI', 0, size)
    stream = client.open(head_of_call(RATE_LIMIT))
    client.send(frame(DATA, 0, stream, prefix))
    response = client.finish(stream)
    assert (response.status, response.messages) == (OK, [OVER_LIMIT])
    stream = client.open(head_of_call(HEALTH + 'Check'))
    client.send(frame(DATA, 0, stream, prefix))
    assert client.finish(stream).status == RESOURCE_EXHAUSTED
    assert client.call(RATE_LIMIT, REQUEST).messages[0][:2] == ADMITTED, 'and the connection goes on'


def test_the_longest_message(client):
    """65536 bytes, in one call after the other: the windows are opened again."""
    unknown = REQUEST + nested(9, bytes(65536 - len(REQUEST) - 4))
    assert len(unknown) == 65536
    client.until(lambda: client.settings)  # they enlarge the window
    for _ in range(10):
        stream = client.open(head_of_call(RATE_LIMIT))
        body = message(unknown)
        for at in range(0, len(body), 16384):
            client.send(frame(DATA, END_STREAM if at + 16384 >= len(body) else 0, stream,
                              body[at:at + 16384]))
        assert client.finish(stream).status == OK


@pytest.mark.parametrize('changed, status', [
    ({'__path': '/envoy.service.ratelimit.v3.RateLimitService/Other'}, UNIMPLEMENTED),
    ({'__path': '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo'}, UNIMPLEMENTED),
    ({'grpc_encoding': 'gzip'}, UNIMPLEMENTED),
    ({'grpc_encoding': 'identity'}, OK),
    ({'grpc_timeout': '1S'}, OK),
    ({'content_type': 'application/grpc+proto'}, OK),
    ({'te': None}, OK),
])
def test_heads(client, changed, status):
    response = client.call(RATE_LIMIT, REQUEST, **changed)
    assert response.status == status
    assert (response.fields.get('grpc-accept-encoding') == 'identity') == (status == UNIMPLEMENTED)


@pytest.mark.parametrize('size', [16150, 60_000])
def test_metadata_that_is_too_long_is_denied(client, size):
    """Tracing passes fields such as tracestate on, which Envoy's clients choose."""
    def call(path, payload):
        head = head_of_call(path, tracestate='v' * size)
        stream = client.open(head[:16000], flags=0)
        for at in range(16000, len(head), 16000):
            client.send(frame(CONTINUATION, END_HEADERS if at + 16000 >= len(head) else 0, stream, head[at:at + 16000]))
        client.send(frame(DATA, END_STREAM, stream, message(payload)))
        return client.finish(stream)
    response = call(RATE_LIMIT, REQUEST)
    assert (response.status, response.messages) == (OK, [OVER_LIMIT])
    assert call(HEALTH + 'Check', b'').status == RESOURCE_EXHAUSTED
    assert client.call(RATE_LIMIT, REQUEST).messages[0][:2] == ADMITTED, 'and the connection goes on'


@pytest.mark.parametrize('changed, status', [
    ({'content_type': 'application/json'}, '415'), ({'content_type': None}, '415'),
    ({'content_type': 'application/grpc-web'}, '415'), ({'__method': 'GET'}, '405')])
def test_what_is_no_call(client, changed, status):
    response = client.call(RATE_LIMIT, REQUEST, **changed)
    assert response.heads == [{':status': status}]


def test_texts_for_people_are_percent_encoded(client):
    response = client.call(RATE_LIMIT, rate_limit_request('headgate', 'policy=50%,key=x'))
    assert response.status == NOT_FOUND
    assert response.fields['grpc-message'] == "there is no policy '50%25'"


def test_the_token_is_asked_for_before_the_message(serve, tmp_path):
    (tmp_path / 'token').write_text(TOKEN)
    (tmp_path / 'token').chmod(0o600)
    server = serve(POLICIES, doors={'grpc': '127.0.0.1:0'},
                   arguments=('--token-file', tmp_path / 'token'))
    right, wrong = (('authorization', f'Bearer {token}') for token in (TOKEN, TOKEN[:-1] + 'x'))
    with Http2(server.addresses['grpc']) as client:
        for shown in ([], [wrong], [right, right], [('authorization', TOKEN)]):
            stream = client.open(head_of_call(RATE_LIMIT, *shown))
            assert client.finish(stream).status == UNAUTHENTICATED
            client.send(frame(DATA, END_STREAM, stream, message(REQUEST)))  # is discarded
        assert client.call(RATE_LIMIT, REQUEST, right).status == OK
        assert client.call(HEALTH + 'Check', b'').messages == [SERVING]


@pytest.fixture
def guarded(serve, tmp_path):
    (tmp_path / 'token').write_text(TOKEN)
    (tmp_path / 'token').chmod(0o600)
    return serve(POLICIES, doors={'grpc': '127.0.0.1:0'}, arguments=('--token-file', tmp_path / 'token'))


def test_a_call_with_the_token_does_not_wait_for_wrong_ones(guarded):
    right, wrong = (('authorization', f'Bearer {token}') for token in (TOKEN, TOKEN[:-1] + 'x'))
    with Http2(guarded.addresses['grpc']) as client:
        guesses = [client.start(RATE_LIMIT, REQUEST, wrong) for _ in range(5)]
        assert client.call(RATE_LIMIT, REQUEST, right).status == OK
        assert not any(client.responses[guess].ended for guess in guesses)
        assert {client.finish(guess).status for guess in guesses} == {UNAUTHENTICATED}


def test_calls_with_the_token_are_answered_before_wrong_ones_end_the_connection(guarded):
    right, wrong = (('authorization', f'Bearer {token}') for token in (TOKEN, TOKEN[:-1] + 'x'))
    with Http2(guarded.addresses['grpc']) as client:
        calls = b''
        for stream in range(1, 49, 2):
            client.responses[stream] = Response()
            shown = wrong if stream % 4 == 1 else right
            calls += frame(HEADERS, END_HEADERS, stream, head_of_call(RATE_LIMIT, shown))
            calls += frame(DATA, END_STREAM, stream, message(REQUEST))
        client.send(calls)
        assert client.to_the_end() == ENHANCE_YOUR_CALM
        statuses = [response.status for response in client.responses.values() if response.ended]
        assert statuses.count(UNAUTHENTICATED) == 10
        assert statuses.count(OK) >= 9


def test_guessing_tokens_ends_soon(guarded):
    with Http2(guarded.addresses['grpc']) as client:
        guesses = [client.start(RATE_LIMIT, REQUEST, ('authorization', f'Bearer {guess:016}'))
                   for guess in range(20)]
        assert client.to_the_end() in (None, ENHANCE_YOUR_CALM)
        assert sum(bool(client.responses[guess].heads) for guess in guesses) <= 10
        assert guarded.until(r'(\d+) wrong tokens?, the last from 127')


def test_a_client_that_floods_without_a_call_is_told(client):
    client.send(frame(PING, payload=bytes(8)) * 5000)
    assert client.to_the_end() == ENHANCE_YOUR_CALM


def test_health(client):
    assert client.call(HEALTH + 'Check', b'').messages == [SERVING]
    service = nested(1, b'envoy.service.ratelimit.v3.RateLimitService')
    assert client.call(HEALTH + 'Check', service).messages == [SERVING]
    assert client.call(HEALTH + 'Check', nested(1, b'other')).status == NOT_FOUND
    watch = client.responses[client.start(HEALTH + 'Watch', nested(1, b'other'))]
    client.until(lambda: watch.messages)
    assert watch.messages == [SERVICE_UNKNOWN] and not watch.ended


def test_watches_are_bounded(client):
    watches = [client.start(HEALTH + 'Watch', b'') for _ in range(17)]
    assert client.finish(watches[-1]).status == RESOURCE_EXHAUSTED
    client.send(reset(watches[0]))
    watch = client.responses[client.start(HEALTH + 'Watch', b'')]
    client.until(lambda: watch.messages)
    assert watch.messages == [SERVING]


def test_a_watch_keeps_its_connection(serve):
    server = serve(POLICIES, doors={'grpc': '127.0.0.1:0'}, arguments=('--idle-timeout', '3'))
    with Http2(server.addresses['grpc']) as watching, Http2(server.addresses['grpc']) as dead:
        for connection in (watching, dead):
            watch = connection.responses[connection.start(HEALTH + 'Watch', b'')]
            connection.until(lambda: watch.messages)
        pings = iter(lambda: watching.receive()[0], None)
        for _ in range(6):  # once per second
            assert PING in pings
        dead.polite = False
        assert dead.to_the_end() == 0
        assert watching.call(RATE_LIMIT, REQUEST).status == OK


def test_a_stop(server):
    """Calls that the client sent before it knew of the stop are answered, and watchers are told."""
    with Http2(server.addresses['grpc']) as client:
        watch = client.responses[client.start(HEALTH + 'Watch', b'')]
        client.until(lambda: watch.messages)
        half = client.open(head_of_call(RATE_LIMIT))
        client.send(frame(DATA, 0, half, message(REQUEST)[:9]))
        client.call(RATE_LIMIT, REQUEST)
        client.polite = False
        server.process.send_signal(signal.SIGTERM)
        client.until(lambda: client.goaway)
        assert client.goaway == (2**31 - 1, 0)
        late = client.start(RATE_LIMIT, REQUEST)
        check = client.start(HEALTH + 'Check', b'')
        ping = None
        while ping is None:
            kind, flags, _, payload = client.receive()
            if kind == PING and not flags:
                ping = payload
        client.send(frame(PING, 1, payload=ping))
        assert client.finish(late).status == OK
        assert client.finish(check).messages == [NOT_SERVING]
        client.send(frame(DATA, END_STREAM, half, message(REQUEST)[9:]))
        assert client.finish(half).status == OK
        assert watch.ended and watch.status == OK and watch.messages == [SERVING, NOT_SERVING]
        assert client.to_the_end() == 0
        assert client.goaway == (check, 0)
    assert server.process.wait(30) == 0


def test_a_call_that_never_ends_is_reset_while_others_go_on(serve):
    server = serve(POLICIES, doors={'grpc': '127.0.0.1:0'}, arguments=('--request-timeout', '1'))
    with Http2(server.addresses['grpc']) as client:
        stream = client.open(head_of_call(RATE_LIMIT))
        while client.responses[stream].reset is None:
            assert client.call(RATE_LIMIT, REQUEST).status == OK


def test_answers_that_are_not_read(server):
    """An answer waits until its window is open, and other clients do not."""
    address = server.addresses['grpc']
    with Http2(address, window=0) as slow, Http2(address) as other:
        stream = slow.start(RATE_LIMIT, REQUEST)
        slow.until(lambda: slow.responses[stream].heads)
        assert other.call(RATE_LIMIT, REQUEST).status == OK
        assert slow.responses[stream].data == b''
        slow.send(window_update(stream, 1000))
        assert slow.finish(stream).status == OK


def test_too_many_calls_at_once(client):
    """More than the settings that the client has acknowledged allow."""
    client.until(lambda: client.settings)
    head = head_of_call(RATE_LIMIT)
    streams = [client.open(head) for _ in range(1024)]
    client.send(frame(DATA, END_STREAM, streams[0], message(REQUEST)))
    assert client.finish(streams[0]).status == OK
    client.open(head)
    client.open(head)
    assert client.to_the_end() == PROTOCOL_ERROR


@pytest.mark.parametrize('broken', [
    frame(DATA, 0, 1, b'x'), frame(HEADERS, END_HEADERS, 2, head_of_call(RATE_LIMIT)),
    frame(PING, payload=b'short'), frame(HEADERS, END_HEADERS, 1, b'\xff\xff\xff\xff\xff'),
    b'\xff' * 100, window_update(0, 0)])
def test_a_broken_connection_ends_alone(server, broken):
    address = server.addresses['grpc']
    with Http2(address) as client, Http2(address) as other:
        client.send(broken)
        assert client.to_the_end() not in (None, 0)
        assert other.call(RATE_LIMIT, REQUEST).status == OK


def test_usual_frames_between_calls_are_no_flood(client):
    """Six times as many frames as a client may send that makes no calls."""
    for _ in range(5000):
        client.send(frame(PING, payload=bytes(8)) * 2 + settings(window=65535))
        assert client.call(RATE_LIMIT, REQUEST).status == OK
        client.send(reset(client.last))
    client.send(frame(GOAWAY, payload=bytes(8)))
    assert client.to_the_end() is None
