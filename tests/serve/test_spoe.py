"""The SPOE door, frame by frame. test_haproxy.py has the real HAProxy."""
import ipaddress
import socket
import ssl
import struct
import subprocess
import time

import pytest

from support.environment import HEADGATE, PATIENCE
from support.http_client import read_metrics
from support.spoe import (ABORT, ACK, AGENT_DISCONNECT, AGENT_HELLO, FIN, HELLO, NOTIFY, UNSET, Engine, frame, hello,
                          items, message, request, response)

POLICIES = '''
version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies:
  - {name: burst, quota: 3, window: 1w, key: [address], match: [{path: "/v1/*"}]}
  - {name: host, quota: 1, window: 1w, key: [host], match: [{path: /host}]}
  - {name: slots, algorithm: concurrency, quota: 1, lease: 1h, key: [], match: [{path: /slow}]}
  - {name: bytes, quota: 100, window: 1w, key: [], cost: response-bytes, match: [{path: /bytes}]}
  - {name: credits, quota: 100, window: 1w, key: [], cost: {response-header: x-cost}, match: [{path: /credits}]}
  - {name: failed, quota: 1, window: 1w, key: [], refund-on: [5xx], match: [{path: /failed}]}
  - {name: upload, quota: 100, window: 1w, key: [], cost: request-bytes, match: [{path: /upload}]}
'''
SPOE = {'spoe': '127.0.0.1:0'}


@pytest.fixture
def server(serve):
    return serve(POLICIES, doors=SPOE)


@pytest.fixture
def engine(server):
    with Engine(server.ports['spoe']) as engine:
        yield engine


def r_of(answer):
    return int(answer.ratelimit.split(';r=')[1].split(';')[0])


def test_the_handshake(server):
    with Engine(server.ports['spoe'], capabilities='', max_frame_size=1000) as engine:
        assert engine.hello.values == {'version': '2.0', 'max-frame-size': 1000,
                                       'capabilities': 'fragmentation'}


def test_variables_of_an_admission_and_a_denial(engine):
    for left in (2, 1, 0):
        answer = engine.ask(request('/v1/a'))
        assert answer.values['verdict'] == 'admitted' and r_of(answer) == left
        assert answer.ratelimit_policy == '"burst";q=3;w=604800'
        assert set(answer.values) == {'verdict', 'ratelimit', 'ratelimit_policy'}
    denied = engine.ask(request('/v1/a'))
    assert (denied.verdict, denied.status, denied.policy) == ('denied', 429, 'burst')
    assert denied.ratelimit == f'"burst";r=0;t={denied.retry_after}'
    assert '"violated-policies":["burst"]' in denied.problem
    assert engine.ask(request('/free')).values == {'verdict': 'off'}


def test_fields_in_other_forms(serve):
    server = serve('version: 1\nfields: [draft-06, x-ratelimit]\npolicies: [{name: p, quota: 5, window: 10s}]',
                   doors=SPOE)
    with Engine(server.ports['spoe']) as engine:
        assert {'ratelimit_limit', 'ratelimit_remaining', 'ratelimit_reset', 'ratelimit_policy',
                'x_ratelimit_limit'} <= set(engine.ask(request()).values)


def test_no_problem_for_clients_that_do_not_accept_one(engine):
    for _ in range(4):
        answer = engine.ask(request('/v1/a', lines=[('accept', 'text/html')]))
    assert answer.status == 429 and answer.problem is None


def test_clients_are_told_apart_by_their_address(engine):
    for src in ('192.0.2.1', '2001:db8::1', '10.0.0.1'):
        assert r_of(engine.ask(request('/v1/a', src=src))) == 2
    # A trusted proxy before HAProxy, and a client that pretends to be one.
    forwarded = [('x-forwarded-for', '192.0.2.1')]
    assert r_of(engine.ask(request('/v1/a', src='10.0.0.1', lines=forwarded))) == 1
    assert r_of(engine.ask(request('/v1/a', src='192.0.2.7', lines=forwarded))) == 2


def test_the_host_is_that_of_the_argument_the_target_or_the_field(engine):
    assert engine.ask(request('/host', lines=[('host', 'a.example:8080')])).verdict == 'admitted'
    assert engine.ask(request('/host', host='A.example')).verdict == 'denied'
    assert engine.ask(request('http://a.example:1/host')).verdict == 'denied'
    assert engine.ask(request('/host', host='b.example')).verdict == 'admitted'


def test_slots_are_released_by_the_response(engine):
    taken = engine.ask(request('/slow'))
    assert taken.verdict == 'admitted' and isinstance(taken.receipt, bytes)
    assert engine.ask(request('/slow')).verdict == 'denied'
    assert engine.ask(response(taken.receipt)).unset == ['receipt']
    assert engine.ask(request('/slow')).verdict == 'admitted'
    assert engine.ask(request('/slow')).verdict == 'denied'
    # HAProxy has no receipt for requests that took nothing, and sends null if the configuration asks anyway.
    assert engine.ask(response(None)).unset == ['receipt']
    assert engine.ask(request('/slow')).verdict == 'denied'


def test_costs_that_the_response_shows(engine):
    """A request is decided as if its cost were 1, which r shows."""
    taken = engine.ask(request('/bytes'))
    assert r_of(taken) == 99
    engine.ask(response(taken.receipt, bytes=70))
    assert r_of(engine.ask(request('/bytes'))) == 29
    taken = engine.ask(request('/credits'))
    engine.ask(response(taken.receipt, headers=b'\x06x-cost\x0225\0\0'))
    assert r_of(engine.ask(request('/credits'))) == 74


def test_a_cost_is_given_back(engine):
    taken = engine.ask(request('/failed'))
    assert engine.ask(request('/failed')).verdict == 'denied'
    engine.ask(response(taken.receipt, 503))
    assert engine.ask(request('/failed')).verdict == 'admitted'


def test_a_long_path_leaves_nobody_uncharged(serve):
    """The receipt of both policies with the path in their keys is too long for a frame."""
    server = serve('''
version: 1
policies:
  - {name: failed, quota: 100, window: 1w, key: [path], refund-on: [5xx]}
  - {name: slots, algorithm: concurrency, quota: 1, lease: 1h, key: [path]}
  - {name: bytes, quota: 1000, window: 1w, key: [address], cost: response-bytes}
''', doors=SPOE)
    path = '/' + 'p' * 9000
    with Engine(server.ports['spoe']) as engine:
        for number in range(2):
            taken = engine.ask(request(f'{path}{number}'))
            assert taken.verdict == 'admitted'
            engine.ask(response(taken.receipt, 503, bytes=500))
        assert engine.ask(request('/other')).policy == 'bytes'
        assert engine.ask(request(f'{path}0', src='127.0.0.2')).verdict == 'admitted', 'its slot is free'


def test_the_bodys_length_if_haproxy_sends_it(engine):
    assert r_of(engine.ask(request('/upload', bytes=40))) == 60
    assert r_of(engine.ask(request('/upload'))) == 59


def test_a_receipt_outlives_reloads_and_restarts(serve, tmp_path):
    policies = POLICIES + f'store: {{table: {{memory: 1MiB, file: {tmp_path}/table}}}}\n'
    server = serve(policies, doors=SPOE)
    with Engine(server.ports['spoe']) as engine:
        one = engine.ask(request('/slow')).receipt
        server.reload(policies.replace('name: burst', 'name: other'))
        assert engine.ask(request('/slow')).verdict == 'denied'
        engine.ask(response(one))
        two = engine.ask(request('/slow'))
        assert two.verdict == 'admitted'
        server.reload(policies.replace('name: slots', 'name: places'))
        engine.ask(response(two.receipt))  # of a policy that is gone
        assert engine.ask(request('/slow')).verdict == 'admitted'
    server.kill()
    with Engine(serve(policies, doors=SPOE).ports['spoe']) as engine:
        assert engine.ask(request('/slow')).verdict == 'denied'
        engine.ask(response(two.receipt))
        assert engine.ask(request('/slow')).verdict == 'admitted'


def test_with_a_store_that_answers_later(redis, serve):
    server = serve('version: 1\n' f'store: {{redis: {{nodes: ["{redis().node}"]}}}}\n'
                   'policies: [{name: slots, algorithm: concurrency, quota: 2, lease: 1h, key: []}]',
                   doors=SPOE)
    with Engine(server.ports['spoe']) as engine:
        for number in range(1, 51):
            engine.send(frame(NOTIFY, request(), 1, number))
        answers = [engine.receive() for _ in range(50)]
        assert sorted(answer.number for answer in answers) == list(range(1, 51))
        admitted = [answer.receipt for answer in answers if answer.verdict == 'admitted']
        assert len(admitted) == 2
        engine.ask(response(admitted[0]))
        # Settling does not wait for Redis.
        while engine.ask(request()).verdict != 'admitted':
            pass
        assert engine.ask(request()).verdict == 'denied'


def test_many_frames_at_once_and_in_pieces(engine):
    raw = b''.join(frame(NOTIFY, request('/free'), stream, 1) for stream in range(3000))
    for at in range(0, len(raw), 10007):
        engine.send(raw[at:at + 10007])
    assert [engine.receive().stream for _ in range(3000)] == list(range(3000))


def test_fragments(engine):
    payload = request('/v1/a', lines=[('cookie', 'x' * 30000)])
    parts = [payload[at:at + 1000] for at in range(0, len(payload), 1000)]
    engine.send(frame(NOTIFY, parts[0], 9, 1, flags=0))
    for part in parts[1:-1]:
        engine.send(frame(UNSET, part, 9, 1, flags=0))
    engine.send(frame(UNSET, parts[-1], 9, 1))
    answer = engine.receive()
    assert (answer.stream, answer.verdict) == (9, 'admitted')
    engine.send(frame(NOTIFY, parts[0], 10, 1, flags=0) + frame(UNSET, b'', 10, 1, flags=FIN | ABORT))
    assert r_of(engine.ask(request('/v1/a'))) == 1  # nothing was charged for what was aborted


def test_more_fragments_than_are_kept(engine):
    payload = request('/v1/a', lines=[('cookie', 'x' * 70000)])
    for at in range(0, len(payload), 8000):
        engine.send(frame(UNSET if at else NOTIFY, payload[at:at + 8000], 9, 1,
                          flags=FIN if at + 8000 >= len(payload) else 0))
    answer = engine.receive()
    assert (answer.kind, answer.stream, answer.flags) == (ACK, 9, FIN)
    assert (answer.verdict, answer.values['status']) == ('denied', 431)
    assert engine.ask(request('/v1/a')).verdict == 'admitted'


@pytest.mark.parametrize('changes, status', [
    ({'supported_versions': '1.0'}, 8), ({'supported_versions': 2}, 4), ({'max_frame_size': 255}, 9),
    ({'max_frame_size': '16380'}, 4), ({'capabilities': None}, 4), ({'healthcheck': 'true'}, 4)])
def test_handshakes_that_are_refused(server, changes, status):
    with Engine(server.ports['spoe'], greets=False) as engine:
        engine.send(hello(**changes))
        answer = engine.receive()
        assert (answer.kind, answer.values['status-code']) == (AGENT_DISCONNECT, status)
        assert engine.receive() is None


@pytest.mark.parametrize('missing, status', [('supported-versions', 5), ('max-frame-size', 6),
                                             ('capabilities', 7)])
def test_items_that_are_missing(server, missing, status):
    values = {'supported-versions': '2.0', 'max-frame-size': 16380, 'capabilities': ''}
    del values[missing]
    with Engine(server.ports['spoe'], greets=False) as engine:
        engine.send(frame(HELLO, items(values)))
        assert engine.receive().values['status-code'] == status


@pytest.mark.parametrize('raw, status', [
    (b'POST / HTTP/1.1\r\n\r\n', 3), (struct.pack('>I', 16381), 3), (struct.pack('>I', 3) + b'abc', 4),
    (frame(NOTIFY, b'\xff' * 20, 1, 1), 4), (frame(NOTIFY, b'', 1, 1), 4), (hello(), 4),
    (frame(UNSET, b'', 1, 1), 12), (frame(HELLO, b'', flags=0), 10),
    (frame(NOTIFY, b'a', 1, 1, flags=0) + frame(NOTIFY, b'a', 2, 1), 11),
    (frame(NOTIFY, response(b'no receipt'), 1, 1), 4)])
def test_faults_have_the_protocols_status(engine, server, raw, status):
    engine.send(raw)
    answer = engine.receive()
    assert (answer.kind, answer.values['status-code']) == (AGENT_DISCONNECT, status)
    assert engine.receive() is None
    assert answer.values['message'] in server.until('a connection from 127.0.0.1 is closed: ').string


def test_faults_of_haproxys_configuration_are_logged_in_words(serve):
    server = serve(POLICIES, doors=SPOE, arguments=('--threads', '1'))
    wrong = message('headgate-request', {'method': 'GET', 'path': '/', 'src': ipaddress.ip_address('::1'),
                                         'heders': b''})
    words = "the argument 'heders' is unknown; did you mean 'headers'?"
    began = time.monotonic()
    for _ in range(50):
        with Engine(server.ports['spoe']) as engine:
            engine.send(frame(NOTIFY, wrong, 1, 1))
            assert words in engine.receive().values['message']
    took = time.monotonic() - began
    with Engine(server.ports['spoe']) as engine:
        assert engine.ask(request()).verdict == 'off'
    server.stop()
    lines = sum(words in line for line in server.log.rest())
    assert 1 <= lines <= 1 + took / 10  # a line within ten seconds, not one for each request


def test_frames_of_unknown_types_are_skipped(engine):
    engine.send(frame(42, b'any') + frame(AGENT_HELLO, b'any'))
    assert engine.ask(request('/v1/a')).verdict == 'admitted'


def test_metrics_count_the_door(serve):
    server = serve(POLICIES, doors=SPOE | {'http': '127.0.0.1:0'})
    with Engine(server.ports['spoe']) as engine:
        for _ in range(4):
            engine.ask(request('/v1/a'))
        metrics = read_metrics(server.port)
    assert metrics['headgate_decision_duration_seconds_count{door="spoe"}'] == 4
    assert metrics['headgate_open_connections{door="spoe"}'] == 1
    assert metrics['headgate_decisions_total{policy="burst",outcome="denied"}'] == 1


def test_over_a_unix_socket(serve, tmp_path):
    serve(POLICIES, doors={'spoe': f'unix:{tmp_path}/spoe.sock'})
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(f'{tmp_path}/spoe.sock')
        assert Engine(connection).ask(request('/v1/a')).verdict == 'admitted'


def test_over_tls_with_a_certificate_of_the_client(serve, authority, files):
    server = serve(POLICIES, doors=SPOE, arguments=('--tls-cert', files[0], '--tls-key', files[1],
                                                    '--client-ca', authority.file))
    context = ssl.create_default_context(cafile=authority.file)
    context.load_cert_chain(*authority.sign('client'))
    plain = socket.create_connection(('127.0.0.1', server.ports['spoe']), PATIENCE)
    with Engine(context.wrap_socket(plain, server_hostname='127.0.0.1')) as engine:
        for left in (2, 1, 0):
            assert r_of(engine.ask(request('/v1/a'))) == left


@pytest.mark.parametrize('at, more', [('0.0.0.0:0', ()), ('127.0.0.1:0', ('--token-file', 'token')),
                                      ('0.0.0.0:0', ('--token-file', 'token'))])
def test_the_protocol_has_no_token(tmp_path, at, more):
    (tmp_path / 'p.yaml').write_text(POLICIES)
    (tmp_path / 'token').write_text('correct-horse-battery\n')
    done = subprocess.run([HEADGATE, 'serve', '--config', 'p.yaml', '--spoe', at, *more], cwd=tmp_path,
                          capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert 'SPOE has no token' in done.stderr and '--client-ca' in done.stderr
