"""Servers with wrong, malformed or hostile fields: bounded waits, clear messages, no crash.

The tests do not wait: with --max-wait 5, fetch gives up a server that demands more, and reports it.
"""
import itertools
import json

import pytest

from support.raw_server import RawServer, response

HUGE = '999999999999999'


def twice(fetch, fields, status=200, *arguments):
    """Fetches two URLs of a server whose first response has these fields."""
    def answer(path, number, headers):
        return response(status if path == '/1' else 200, fields if path == '/1' else (), b'body')

    with RawServer(answer) as server:
        return fetch('--max-wait', '5s', '--retry', 1, *arguments, f'{server.url}/1',
                     f'{server.url}/2')


@pytest.mark.parametrize('fields', [
    [('RateLimit', f'"p";r=0;t={HUGE}')],
    [('RateLimit', f'"p";r=0;t=3600, "q";r={HUGE};t=1')],
    [('RateLimit', '"p";r=5;t=1'), ('RateLimit', '"p";r=0;t=60')],
    [('RateLimit', 'limit=10, remaining=0, reset=60')],
    [('RateLimit-Limit', '10'), ('RateLimit-Remaining', '0'), ('RateLimit-Reset', HUGE)],
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '99999999999')],
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '99999999999999')],
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '2099-01-01T00:00:00Z')],
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '6m0s')],
    [('x-rate-limit-remaining', '0'), ('x-rate-limit-reset', '99999999999')],
    # As Discord, Reddit, GitLab, Atlassian, Kong and Envoy write them.
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '99999999999.123')],
    [('X-RateLimit-Limit', '5'), ('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset-After', '60.5')],
    [('X-Ratelimit-Used', '10'), ('X-Ratelimit-Remaining', '0.0'), ('X-Ratelimit-Reset', '599.5')],
    [('RateLimit-Limit', '60'), ('RateLimit-Observed', '67'), ('RateLimit-Remaining', '0'),
     ('RateLimit-Reset', '99999999999')],
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', 'Thu, 31 Dec 2099 23:59:59 GMT')],
    [('Beta-RateLimit', '"hourly";r=0;t=60'), ('Beta-RateLimit-Policy', '"hourly";q=9;w=3600')],
    [('X-RateLimit-Limit-Minute', '5'), ('X-RateLimit-Remaining-Minute', '0')],
    [('x-ratelimit-limit', '10, 10;w=60;name="x"'), ('x-ratelimit-remaining', '0'),
     ('x-ratelimit-reset', '60')],
    [('Retry-After', HUGE)],
    [('Retry-After', '9' * 400)],
    [('Retry-After', 'Thu, 31 Dec 2099 23:59:59 GMT')],
], ids=lambda fields: ', '.join(f'{name}: {value[:30]}' for name, value in fields))
def test_a_wait_beyond_max_wait_is_given_up_with_words(fetch, fields):
    got = twice(fetch, fields)
    assert got.code == 1 and (got.fetched, got.failed) == (1, 1), got
    assert 'asks for a longer wait than --max-wait allows' in got.err.decode(), got
    assert got.seconds < 5


@pytest.mark.parametrize('fields', [[('Retry-After', '1')], [('RateLimit', '"p";r=0;t=1')]], ids=str)
def test_a_wait_of_max_wait_is_obeyed(fetch, fields):
    with RawServer(lambda _, number, __: response(200 if number else 429, fields)) as server:
        got = fetch('--max-wait', '1s', server.url)
    assert (got.code, got.fetched, got.failed) == (0, 1, 0), got


@pytest.mark.parametrize('fields', [
    [('RateLimit', '"p";r=0;t=-1')],
    [('RateLimit', '"p";r=-5;t=60')],
    [('RateLimit', f'"p";r=0;t={HUGE}9')],
    [('RateLimit', '"p";r=0;t=60,')],
    [('RateLimit', '"p;r=0;t=60')],
    [('RateLimit', '5;r=0;t=60')],  # a name is a String, or a Token
    [('RateLimit', '"p";r=0;t=1.5')],
    [('RateLimit', '\x80\xff')],
    [('RateLimit', '"p";r=0;t=60'), ('Age', '3')],
    [('RateLimit-Remaining', '-1'), ('RateLimit-Reset', '-60')],
    [('X-RateLimit-Remaining', 'none'), ('X-RateLimit-Reset', 'never')],
    [('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '1000000001')],  # long ago
    [('Retry-After', '-100')],
    [('Retry-After', 'tomorrow')],
    [('Retry-After', 'Thu, 01 Jan 1970 00:00:00 GMT')],
    [('RateLimit', f'"p";r={HUGE};t=1'), ('RateLimit-Policy', f'"p";q={HUGE};w=1')],
    [('RateLimit', ', '.join(f'"{i}";r=9;t=1' for i in range(3000)))],
], ids=lambda fields: ', '.join(f'{name}: {value[:30]}' for name, value in fields))
def test_what_makes_no_sense_is_no_reason_to_wait(fetch, fields):
    got = twice(fetch, fields)
    assert got.code == 0 and got.fetched == 2 and got.seconds < 5, got


@pytest.mark.parametrize('status', [429, 503])
def test_a_denial_without_fields_backs_off(fetch, status):
    with RawServer(lambda *_: response(status)) as server:
        got = fetch('--retry', 2, server.url)
        assert len(server.paths) == 3  # at once, after one second, and after two more
    assert got.code == 1 and f'denied: {status}, 3 times' in got.err.decode(), got
    assert 2.9 <= got.waiting


def test_a_back_off_is_no_longer_than_max_wait(fetch):
    with RawServer(lambda *_: response(503)) as server:
        got = fetch('--retry', 3, '--max-wait', '1s', server.url)
        assert len(server.paths) == 4
    assert got.code == 1 and 'denied: 503, 4 times' in got.err.decode(), got
    assert 2.9 <= got.waiting < 6, 'without the limit: 7'


def test_a_back_off_is_not_what_the_server_asks_for(fetch):
    with RawServer(lambda *_: response(503)) as server:
        got = fetch('--max-wait', '500ms', server.url)
        assert len(server.paths) == 1
    assert got.code == 1 and got.failed == 1, got
    assert 'the next request may begin only after a longer wait than --max-wait allows' in got.err.decode()


def test_the_pauses_of_rate_are_not_what_the_server_asks_for(fetch):
    with RawServer(lambda *_: response(200, [], b'body')) as server:
        got = fetch('--max-wait', '100ms', '--rate', 4, *(f'{server.url}/{i}' for i in range(3)))
    assert got.code == 0 and got.fetched == 3 and got.seconds >= 0.4, got


def test_a_denial_with_units_left_is_a_denial(fetch):
    fields = [('RateLimit', '"p";r=100;t=1')]
    with RawServer(lambda *_: response(429, fields)) as server:
        got = fetch('--retry', 1, server.url)
        assert len(server.paths) == 2, got
    assert 0.9 <= got.waiting


def test_a_server_that_denies_whoever_obeys_is_asked_ever_more_rarely(fetch):
    with RawServer(lambda *_: response(429, [('Retry-After', '0')])) as server:
        got = fetch('--retry', 3, server.url)
        assert len(server.paths) == 4, got
    assert got.code == 1 and 2.9 <= got.waiting  # nothing, one second, two seconds


def test_endless_headers_end(fetch):
    def answer(path, number, headers):
        yield b'HTTP/1.1 200 OK\r\n'
        for i in itertools.count():
            yield b'X-%d: ' % i + b'x' * 1000 + b'\r\n'

    with RawServer(answer) as server:
        got = fetch('--retry', 0, server.url)
    assert got.code == 1 and got.failed == 1 and 'header' in got.err.decode().lower(), got


@pytest.mark.parametrize('fold', [b' ', b'\t'])
def test_a_field_on_several_lines_is_a_failure(fetch, fold):
    folded = (b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nRateLimit: "p";r=0\r\n' + fold
              + b';t=60\r\n\r\nbody')
    with RawServer(lambda *_: folded) as server:
        got = fetch('--retry', 0, server.url)
    assert got.code == 1 and got.failed == 1 and got.out == b'', got
    assert b'a field of its header section is on several lines' in got.err, got


def test_endless_interim_answers_end(fetch):
    def answer(path, number, headers):
        while True:
            yield b'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n' * 100

    with RawServer(answer) as server:
        got = fetch('--retry', 0, server.url)
    assert got.code == 1 and got.failed == 1, got


def test_fields_of_a_trailer_section_are_ignored(fetch):
    trailed = (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: RateLimit\r\n\r\n'
               b'4\r\nbody\r\n0\r\nRateLimit: "p";r=0;t=60\r\nRetry-After: 60\r\n\r\n')
    with RawServer(lambda *_: trailed) as server:
        got = fetch('--max-wait', '5s', f'{server.url}/1', f'{server.url}/2')
    assert got.code == 0 and got.out == b'bodybody' and got.waiting < 5, got


def test_endless_trailers_end(fetch):
    def answer(path, number, headers):
        yield b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n'
        while True:
            yield b'X: ' + b'x' * 1000 + b'\r\n'

    with RawServer(answer) as server:
        got = fetch('--retry', 0, server.url)
    assert got.code == 1 and got.failed == 1 and got.out == b'', got


def test_an_endless_body_that_nobody_wants_ends(fetch):
    def answer(path, number, headers):
        yield b'HTTP/1.1 404 Gone\r\n\r\n'
        while True:
            yield b'x' * 65536

    with RawServer(answer) as server:
        got = fetch(server.url)
    assert got.code == 1 and b'the server answers 404' in got.err, got


@pytest.mark.parametrize('said', [
    None, b'', b'\0' * 100, b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf',
    b'HTTP/9.9 abc\r\nConnection: close\r\n\r\n', b'HTTP/1.1 000 \r\nConnection: close\r\n\r\n',
    b'HTTP/1.1 200 OK\r\nContent-Length: -5\r\nConnection: close\r\n\r\n',
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n',
], ids=repr)
def test_an_answer_that_is_none_is_a_failure_with_words(fetch, said):
    def answer(*_):
        if not said:
            return None
        return said if b'Connection: close' in said else said + b'\r\nConnection: close'

    with RawServer(answer) as server:
        got = fetch('--retry', 0, server.url)
    assert got.code == 1 and got.failed == 1 and got.out == b'', got
    assert server.url in got.err.decode()


def broken_off(said):
    """An answer that is closed after these bytes."""
    def answer(*_):
        yield said
        raise ConnectionError
    return answer


@pytest.mark.parametrize('said', [
    b'HTTP/1.1 200 OK\r\n', b'HTTP/1.1 200 OK\r\nX: y\r\n', b'HTTP/1.1 200 OK\r\nX: y\r\n\r',
    b'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\n',
    b'HTTP/1.1 404 Gone\r\nX: y\r\n', b'HTTP/1.1 429 Slow\r\nRetry-After: 60\r\n',
    b'HTTP/1.1 302 Found\r\nLocation: /els',
], ids=repr)
def test_a_header_section_that_breaks_off_is_no_answer(fetch, said):
    """libcurl takes it for a good one, without a body."""
    with RawServer(broken_off(said)) as server:
        got = fetch('--retry', 1, server.url)
        assert server.paths == ['/', '/']
    assert got.code == 1 and (got.fetched, got.denied, got.failed) == (0, 0, 1), got
    assert 'the connection broke off in the header section, 2 times' in got.err.decode(), got
    assert 0.9 <= got.waiting


@pytest.mark.parametrize('length', ['99999999999999999999', '9223372036854775808', 'abc', '3x', '-3', '',
                                    '3\r\nContent-Length: 2'])
def test_a_length_that_cannot_be_is_a_failure(fetch, tmp_path, length):
    said = f'HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\nabc'.encode()
    with RawServer(lambda *_: said) as server:
        got = fetch('--output', 'o', f'{server.url}/a')
        assert len(server.paths) == 1
    assert got.code == 1 and (got.fetched, got.failed) == (0, 1), got
    assert 'Content-Length' in got.err.decode(), got
    assert not (tmp_path / 'o/a').exists()


def test_words_of_a_server_cannot_steer_the_terminal(fetch):
    fields = [('RateLimit', '"\\"x";r=0;t=999')]
    got = twice(fetch, fields)
    assert got.code == 1 and b'\x1b' not in got.err
    with RawServer(lambda *_: response(302, [('Location', 'ftp://x/\x1b[2J')])) as server:
        got = fetch(server.url)
    assert got.code == 1 and b'\x1b' not in got.err, got


def test_contradictory_policies_wait_for_the_strictest(fetch):
    fields = [('RateLimit', '"p";r=100;t=1, "p";r=0;t=2'), ('RateLimit-Policy', '"p";q=1;w=1'),
              ('RateLimit-Policy', '"p";q=1000;w=1')]
    got = twice(fetch, fields)
    assert got.code == 0 and 1.9 <= got.waiting < 5, got


def test_json_survives_hostile_names(fetch):
    got = twice(fetch, [('RateLimit', '"a\\"b\\\\";r=0;t=600')], 200, '--json', '--output', 'o')
    summary = json.loads(got.out)
    assert summary['failed'] == 1 and 'a"b' in summary['failures'][0]['why']
