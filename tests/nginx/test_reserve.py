"""Costs that are reserved when the request comes, and settled by what its response says."""
import contextlib
import gzip
import json
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.environment import PATIENCE
from support.http_client import Connection
from support.policies import YEAR, policies, policy
from support.raw_server import RawServer, response

QUOTA = 1000


def tokens(settle='{response-json: usage.total_tokens}', reserve=100, **more):
    return policies(policy('tokens', QUOTA, f'{YEAR}s', unit='tokens', algorithm='fixed-window',
                           cost=f'{{reserve: {reserve}, settle: {settle}}}',
                           match='{path: "/v1/*"}', **more))


@pytest.fixture
def model(nginx):
    """model(answer, policies) starts an upstream and nginx before it."""
    with contextlib.ExitStack() as stack:
        def start(answer, text=None, location='', **more):
            origin = stack.enter_context(RawServer(answer))
            server = nginx(text or tokens(), server=f'''
                location / {{ proxy_pass http://127.0.0.1:{origin.port}; proxy_http_version 1.1;
                              {location} }}
                location = /left {{ headgate off; headgate_metrics; }}''', **more)
            server.origin = origin
            return server
        yield start


def completion(total, **more):
    return json.dumps({'choices': [{'message': {'content': 'usage'}}],
                       'usage': {'total_tokens': total}, **more}).encode()


COMPRESSED = gzip.compress(completion(30))


def event(value):
    return b'data: ' + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b'\n\n'


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


STREAM = (b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
          b'Transfer-Encoding: chunked\r\n\r\n')


def stream(*events):
    return STREAM + b''.join(chunk(e) for e in events) + chunk(b'')


def left_after(server, *paths):
    """What is left after these requests; each is answered before the next one."""
    for path in paths:
        assert server.request(path).status == 200
    return server.request('/v1/json/0').r + 100


def answer_of(path, *_):
    _, _, form, number, *_ = path.split('/')
    total = int(number)
    last = {'choices': [], 'usage': {'total_tokens': total}}
    return {
        'json': lambda: response(body=completion(total), fields=[('Content-Type', 'application/json')]),
        'late': lambda: response(body=completion(total, padding='x' * 200_000)),
        'early': lambda: response(body=json.dumps(
            {'usage': {'total_tokens': total}, 'padding': 'x' * 200_000}).encode()),
        'stream': lambda: stream(*[event({'choices': ['a'], 'usage': None})] * 3, event(last),
                                 event(b'[DONE]')),
        'none': lambda: response(body=b'{"choices":[]}'),
        'text': lambda: response(body=completion('many')),
        'broken': lambda: response(503, body=b'{}'),
        'header': lambda: response(fields=[('X-Tokens', number)], body=b'!'),
        'gzip': lambda: response(fields=[('Content-Encoding', 'gzip')], body=COMPRESSED),
        'br': lambda: response(fields=[('Content-Encoding', 'br')], body=COMPRESSED),
    }[form]()


@pytest.mark.parametrize('form', ['json', 'late', 'early', 'stream'])
def test_the_member_of_the_response_settles(model, form):
    server = model(answer_of)
    assert server.request(f'/v1/{form}/30').r == 900, 'reserved'
    assert server.request(f'/v1/{form}/250').r == 870, 'given back'
    assert server.request('/v1/json/0').r == 620, 'an under-estimate is charged'


def test_what_is_not_settled_stays_charged_and_is_counted(model):
    server = model(answer_of)
    assert left_after(server, '/v1/none/0', '/v1/text/0') == 800
    assert server.metrics('/left')['headgate_cost_defaulted_total{policy="tokens"}'] == 2


def test_refund_on_gives_all_back(model):
    server = model(answer_of, tokens(refund_on='5xx'))
    assert server.request('/v1/broken/0').status == 503
    assert left_after(server) == 1000
    assert server.metrics('/left')['headgate_refunds_total{policy="tokens"}'] == 1


def test_settled_by_a_header_or_by_bytes(model):
    server = model(answer_of, tokens('{response-header: x-tokens}'))
    assert server.request('/v1/header/7').r == 900
    assert server.request('/v1/header/7').r == 893
    server = model(answer_of, tokens('response-bytes'))
    size = len(completion(5))
    assert server.request('/v1/json/5').r == 900
    assert server.request('/v1/json/5').r == 1000 - size - 100


def test_compression_by_nginx_does_not_hide_the_member(model):
    server = model(answer_of, location='gzip on; gzip_types *; gzip_min_length 1;')
    answer = server.request('/v1/late/30', headers=[('Accept-Encoding', 'gzip')])
    assert answer.one('Content-Encoding') == 'gzip'
    assert left_after(server) == 970


def test_a_compressed_response_of_the_upstream(model):
    server = model(answer_of)
    for coding, left in ('gzip', 970), ('br', 870):
        answer = server.request(f'/v1/{coding}/30', headers=[('Accept-Encoding', coding)])
        assert (answer.one('Content-Encoding'), answer.body) == (coding, COMPRESSED)
        assert left_after(server) == left, 'what is not read stays reserved'


@pytest.mark.parametrize('coding, left', [
    ('x-gzip', 970), ('GZip', 970), ('X-GZIP ', 970), ('identity', 970), ('Identity', 970), ('', 970),
    ('gzip, identity', 900), ('deflate', 900)])
def test_codings_by_all_their_names(model, coding, left):
    body = COMPRESSED if 'zip' in coding.lower() else completion(30)
    server = model(lambda path, *_: response(fields=[('Content-Encoding', coding)], body=body)
                   if 'coded' in path else answer_of(path))
    assert server.request('/v1/coded').body == body
    assert left_after(server) == left


def test_a_compressed_stream_in_any_pieces(model):
    packer = zlib.compressobj(wbits=31)
    packed = [packer.compress(event({'usage': None, 'text': 'x' * n})) +
              packer.flush(zlib.Z_SYNC_FLUSH) for n in range(50)]
    packed.append(packer.compress(event({'usage': {'total_tokens': 30}})) + packer.flush())
    body = b''.join(packed)

    def answer(path, *_):
        size = int(path.rpartition('/')[2])
        yield STREAM.replace(b'\r\n\r\n', b'\r\nContent-Encoding: gzip\r\n\r\n')
        yield from (chunk(body[i:i + size]) for i in range(0, len(body), size))
        yield chunk(b'')
    server = model(answer)
    for n, size in enumerate((1, 7, 1000, 100_000)):
        assert server.request(f'/v1/{size}').r == 900 - 30 * n


def test_a_malformed_compressed_body_stays_reserved(model):
    server = model(lambda path, *_: response(fields=[('Content-Encoding', 'gzip')], body=b'no gzip')
                   if 'bad' in path else answer_of(path))
    assert left_after(server, '/v1/bad') == 900


def test_unbuffered_and_buffered_streams_in_any_pieces(model):
    whole = stream(event({'usage': None}), event({'usage': {'total_tokens': 30}}), event(b'[DONE]'))

    def bytewise(path, *_):
        yield from (whole[i:i + 1] for i in range(len(whole)))
    for location in ('', 'proxy_buffering off;', 'headgate_unbuffered_events on;'):
        server = model(bytewise, location=location)
        assert server.request('/v1/x').r == 900
        assert server.request('/v1/x').r == 870, location


class Held:
    """An upstream whose streams go on when the test says so."""

    def __init__(self, *parts):
        self.parts = parts
        self.go_on = threading.Event()

    def __call__(self, path, *_):
        yield STREAM
        yield chunk(self.parts[0])
        assert self.go_on.wait(PATIENCE)
        for part in self.parts[1:]:
            yield part


@pytest.mark.parametrize('said, charged', [(30, 100), (400, 400)])
def test_a_client_that_leaves_is_charged_what_was_reserved_or_more(model, said, charged):
    held = Held(event({'usage': {'total_tokens': said}}), chunk(b''))
    server = model(lambda path, *_: held(path) if 'held' in path else answer_of(path),
                   location='proxy_buffering off;')
    with Connection(server.port) as leaving:
        leaving.send(b'GET /v1/held HTTP/1.1\r\nHost: h\r\n\r\n')
        while b'usage' not in leaving.buffer:
            leaving.more()
    server.access(1)  # it is settled when it is logged
    held.go_on.set()
    assert left_after(server) == 1000 - charged


def test_an_upstream_that_fails_in_the_middle(model):
    held = Held(event({'usage': {'total_tokens': 30}}), b'no chunk')
    server = model(lambda path, *_: held(path) if 'held' in path else answer_of(path))
    held.go_on.set()
    with pytest.raises(ConnectionError), Connection(server.port) as connection:
        connection.request('/v1/held')
    server.access(1)
    assert left_after(server) == 900


def test_a_reload_while_a_stream_runs(model):
    held = Held(event({'usage': None}), chunk(event({'usage': {'total_tokens': 30}})), chunk(b''))
    server = model(lambda path, *_: held(path) if 'held' in path else answer_of(path),
                   location='proxy_buffering off;')
    with Connection(server.port) as streaming:
        streaming.send(b'GET /v1/held HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
        while b'usage' not in streaming.buffer:
            streaming.more()
        reload = threading.Thread(target=server.reload)
        reload.start()
        held.go_on.set()
        streaming.receive()
        reload.join()
    assert left_after(server) == 970


def test_many_workers_learn_one_estimate(model):
    text = policies(policy('tokens', 10_000, f'{YEAR}s', algorithm='fixed-window', key='[]',
                           cost='{reserve: {estimate: 90%}, '
                                'settle: {response-json: usage.total_tokens}}'))
    server = model(answer_of, text, workers=2)
    assert server.request('/v1/json/40').r == 9900, 'a hundredth of the quota'
    for n in range(40):
        server.request('/v1/json/40')
    assert server.request('/v1/json/40').r == 10_000 - 42 * 40, 'the usual cost'


# ---- overshoot

class Crowd:
    """64 requests at the same time, whose responses come when all of them are decided."""
    count = 64

    def __init__(self, model, text, cost):
        self.decided = threading.Event()
        self.cost, self.used = cost, 0
        self.lock = threading.Lock()
        self.answered = self.upstream = 0
        self.server = model(self.answer, text)

    def note(self, **counts):
        with self.lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)
            if self.answered + self.upstream == self.count:
                self.decided.set()

    def answer(self, path, *_):
        cost = self.cost(int(path.split('/')[2]))
        self.note(upstream=1, used=cost)
        assert self.decided.wait(PATIENCE)
        return response(body=completion(cost), fields=[('X-Tokens', str(cost))])

    def one(self, number):
        status = self.server.request(f'/v1/{number}').status
        if status == 429:
            self.note(answered=1)
        return status

    def run(self):
        """(admitted, units that they cost)"""
        with ThreadPoolExecutor(self.count) as pool:
            statuses = list(pool.map(self.one, range(self.count)))
        assert set(statuses) <= {200, 429}
        return statuses.count(200), self.used


def cost_of(number):
    return 20 + number * 37 % 80  # 20 to 99


def late_tokens():
    return policies(policy('tokens', QUOTA, f'{YEAR}s', algorithm='fixed-window',
                           cost='{response-header: x-tokens}', match='{path: "/v1/*"}'))


def test_overshoot_of_64_requests_at_the_same_time(model, record_property):
    admitted, used = Crowd(model, late_tokens(), cost_of).run()
    record_property('late', (admitted, used))
    assert admitted == 64 and used > 3 * QUOTA, 'charged afterwards, they do not see each other'

    admitted, used = Crowd(model, tokens(), cost_of).run()
    record_property('reserved', (admitted, used))
    assert admitted == 10 and used <= QUOTA

    crowd = Crowd(model, tokens(reserve=50), cost_of)
    admitted, used = crowd.run()
    record_property('under', (admitted, used))
    assert admitted == 20
    under = sum(sorted(max(cost_of(n) - 50, 0) for n in range(64))[-20:])
    assert used <= QUOTA + under
