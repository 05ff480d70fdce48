"""headgate fetch as a user meets it."""
import contextlib
import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import tempfile
import threading

import pytest

from conftest import SUMMARY
from support.environment import HEADGATE, ROOT
from support.raw_server import RawServer, response

OPEN = [('RateLimit', '"p";r=1000;t=1')]


def echo(path, number, headers):
    return response(200, OPEN, path.encode() + b'\n')


def test_bodies_go_to_standard_output_in_the_order_of_the_urls(fetch):
    released = threading.Event()

    def answer(path, number, headers):
        if path == '/0':
            released.wait(20)  # the response to the first comes last
        elif path == '/1':
            released.set()
        return echo(path, number, headers)

    with RawServer(answer) as server:
        got = fetch('--parallel', 4, f'{server.url}/warm', *(f'{server.url}/{i}' for i in range(9)))
    assert got.code == 0 and got.out == b'/warm\n' + b''.join(b'/%d\n' % i for i in range(9)), got
    assert (got.fetched, got.denied, got.failed) == (10, 0, 0)


def test_the_list_may_come_from_a_file_or_standard_input(fetch, tmp_path):
    with RawServer(echo) as server:
        text = f'# a comment\n{server.url}/a\r\n\n  {server.url}/b\n'.encode()
        (tmp_path / 'list').write_bytes(text)
        assert fetch('--input', 'list').out == b'/a\n/b\n'
        assert fetch('--input', '-', stdin=text).out == b'/a\n/b\n'
        assert fetch('--input', 'list', f'{server.url}/first').out == b'/first\n/a\n/b\n'


def test_an_empty_list_is_done(fetch, tmp_path):
    (tmp_path / 'list').write_text('')
    got = fetch('--input', 'list')
    assert got.code == 0 and got.fetched == 0


def test_files_are_named_safely_and_never_overwritten(fetch, tmp_path):
    out = tmp_path / 'out'
    out.mkdir()
    (out / 'mine').write_text('precious')
    long = 'x' * 3000
    paths = ['/a.json', '/b/a.json', '/', '/..%2f..%2fetc', '/.hidden', '/mine', '/q?x=1&y=/z',
             '/' + long + '1', '/' + long + '2']
    with RawServer(echo) as server:
        got = fetch('--output', 'out', *(server.url + path for path in paths))
    assert got.code == 0, got
    assert (out / 'mine').read_text() == 'precious'
    files = {f.name: f.read_text().rstrip('\n') for f in out.iterdir() if not f.name.startswith('.')}
    assert files.pop('mine') == 'precious'
    assert files['a.json'] == '/a.json' and files['a-2.json'] == '/b/a.json'
    assert files['index'] == '/' and files['mine-2'] == '/mine'
    assert files['..%2f..%2fetc'.replace('..', '_..', 1)] == '/..%2f..%2fetc'
    assert files['q_x=1_y=_z'] == '/q?x=1&y=/z'
    assert len(files) == len(paths) and max(map(len, files)) <= 200
    assert sorted(os.listdir(tmp_path)) == ['out']


def test_the_manual_names_files_as_they_are_named(fetch, tmp_path):
    with RawServer(echo) as server:
        assert fetch('--output', 'pages', f'{server.url}/items?page=2', f'{server.url}/x/a.json').code == 0
    named = re.search(r'\*\*Files\*\* are named after .*?, `(.*?)` or `(.*?)`\.',
                      (ROOT / 'docs/client.md').read_text())
    assert sorted(named.groups()) == sorted(file.name for file in (tmp_path / 'pages').glob('[!.]*'))


def test_an_interrupted_list_goes_on_where_it_was(tmp_path, fetch):
    held = threading.Event()
    release = threading.Event()

    def answer(path, number, headers):
        if path == '/5' and not release.is_set():
            held.set()
            return [b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n', b'half', *stall()]
        return echo(path, number, headers)

    def stall():
        release.wait(20)
        yield b''

    with RawServer(answer) as server:
        urls = [f'{server.url}/{i}' for i in range(10)]
        process = subprocess.Popen([HEADGATE, 'fetch', '--parallel', '1', '--output', 'out', *urls],
                                   cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert held.wait(20)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1].splitlines()
        assert process.returncode == 1
        assert 'interrupted; 5 left' in said[-2] and SUMMARY.match(said[-1])[1] == '5', said
        files = sorted(f for f in os.listdir(tmp_path / 'out') if not f.startswith('.'))
        assert files == ['0', '1', '2', '3', '4']
        assert not [f for f in os.listdir(tmp_path / 'out') if 'part' in f]

        release.set()
        before = len(server.paths)
        got = fetch('--output', 'out', *urls)
        assert got.code == 0 and got.fetched == 5, got
        assert '5 were complete' in got.err.decode()
        assert sorted(server.paths[before:]) == ['/5', '/6', '/7', '/8', '/9']
        again = fetch('--output', 'out', *urls)
        assert again.code == 0 and again.fetched == 0
    files = {f: (tmp_path / 'out' / f).read_text() for f in map(str, range(10))}
    assert files == {str(i): f'/{i}\n' for i in range(10)}


def test_a_killed_run_goes_on_where_it_was(tmp_path, fetch):
    held, release = threading.Event(), threading.Event()

    def answer(path, number, headers):
        if path == '/3' and not release.is_set():
            yield b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'
            held.set()
            release.wait(20)
            return
        yield echo(path, number, headers)

    with RawServer(answer) as server:
        urls = [f'{server.url}/{i}' for i in range(6)]
        process = subprocess.Popen([HEADGATE, 'fetch', '--parallel', '1', '--output', 'out', *urls],
                                   cwd=tmp_path, stderr=subprocess.DEVNULL)
        assert held.wait(20)
        process.kill()
        process.wait(20)
        assert not (tmp_path / 'out/3').exists()
        release.set()
        got = fetch('--output', 'out', *urls)
    assert got.code == 0 and got.fetched == 3, got
    assert {f.name: f.read_text() for f in (tmp_path / 'out').iterdir() if f.name.isdigit()} == {
        str(i): f'/{i}\n' for i in range(6)}
    assert sorted(os.listdir(tmp_path / 'out')) == ['.headgate-fetch', *map(str, range(6))]


def test_a_full_disk_leaves_no_half_line_in_the_journal(fetch, tmp_path):
    most, room = 4096, 100

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    journal = tmp_path / 'out/.headgate-fetch'
    journal.parent.mkdir()
    journal.write_text('x' * (most - room - 1) + '\n')
    with RawServer(echo) as server:
        urls = [f'{server.url}/{"a" * room}', f'{server.url}/b']
        said = subprocess.run([HEADGATE, 'fetch', '--parallel', '1', '--output', 'out', *urls],
                              cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=20,
                              preexec_fn=limit).stderr
        assert '.headgate-fetch: File too large' in said and ' 1 fetched, ' in f' {said.splitlines()[-1]}', said
        assert journal.read_text().endswith('/b\n')
        got = fetch('--output', 'out', *urls)
        assert got.code == 0 and got.fetched == 1, got
    assert sorted(os.listdir(tmp_path / 'out')) == ['.headgate-fetch', 'a' * room, 'b']


def test_a_changed_or_missing_file_is_fetched_again(fetch, tmp_path):
    with RawServer(echo) as server:
        fetch('--output', 'out', f'{server.url}/a', f'{server.url}/b')
        (tmp_path / 'out/a').unlink()
        (tmp_path / 'out/.headgate-fetch').open('a').write('12\thalf a li')
        got = fetch('--output', 'out', f'{server.url}/a', f'{server.url}/b')
        assert got.fetched == 1 and (tmp_path / 'out/a').read_text() == '/a\n'
        assert fetch('--output', 'out', f'{server.url}/a').fetched == 0


def test_a_name_that_another_url_has_now_is_not_the_first_ones(fetch, tmp_path):
    with RawServer(lambda *_: response(200, [], b'one')) as one, RawServer(lambda *_: response(200, [], b'two')) as two:
        fetch('--output', 'out', f'{one.url}/a')
        (tmp_path / 'out/a').unlink()
        fetch('--output', 'out', f'{two.url}/a')
        got = fetch('--output', 'out', f'{one.url}/a', f'{two.url}/a')
        assert (len(one.paths), len(two.paths)) == (2, 1)
    assert got.code == 0 and got.fetched == 1, got
    files = {file.name: file.read_text() for file in (tmp_path / 'out').iterdir() if file.name.startswith('a')}
    assert files == {'a': 'two', 'a-2': 'one'}


# As NFS and many file systems of FUSE: renameat2() refuses flags.
def test_a_file_system_that_always_replaces_keeps_files(fetch, tmp_path):
    (tmp_path / 'old.c').write_text('#include <errno.h>\n'
                                    'int renameat2(int a, const char *b, int c, const char *d, unsigned e) {\n'
                                    '  return errno = EINVAL, -1;\n}\n')
    subprocess.run(['gcc', '-shared', '-fPIC', '-o', 'old.so', 'old.c'], cwd=tmp_path, check=True)
    with RawServer(echo) as server:
        got = fetch('--output', 'out', f'{server.url}/a', f'{server.url}/b', environment={
            'no_proxy': '*', 'LD_PRELOAD': str(tmp_path / 'old.so'), 'ASAN_OPTIONS': 'verify_asan_link_order=0'})
    assert got.code == 0 and got.fetched == 2, got
    files = {file.name: file.read_text() for file in (tmp_path / 'out').iterdir()}
    assert files.pop('.headgate-fetch') and files == {'a': '/a\n', 'b': '/b\n'}


def test_one_run_at_a_time_has_the_directory(fetch, tmp_path):
    import fcntl
    (tmp_path / 'out').mkdir()
    with open(tmp_path / 'out/.headgate-fetch', 'w') as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        got = fetch('--output', 'out', 'http://127.0.0.1:1/')
    assert got.code == 1 and b'another headgate fetch' in got.err


def test_redirects_are_followed_and_their_fields_heeded(fetch):
    def answer(path, number, headers):
        if path == '/from':
            return response(301, [('Location', 'to?x=1'), ('RateLimit', '"p";r=0;t=1')], b'moved')
        return echo(path, number, headers)

    with RawServer(answer) as server:
        got = fetch(f'{server.url}/from')
    assert got.out == b'/to?x=1\n' and got.fetched == 1
    assert got.waiting >= 0.9, got


def test_origins_do_not_block_each_other(fetch):
    exhausted = [('RateLimit', '"p";r=0;t=3600')]
    with RawServer(lambda *_: response(200, exhausted, b'x')) as one, RawServer(echo) as other:
        got = fetch('--max-wait', '5s', f'{one.url}/1', f'{one.url}/2',
                    *(f'{other.url}/{i}' for i in range(20)))
    assert (got.fetched, got.failed) == (21, 1), got
    assert len(one.paths) == 1 and len(other.paths) == 20


def test_connections_to_many_servers_are_not_kept(fetch, tmp_path):
    """At most one connection and one file per request under way, and what the program has itself."""
    parallel = 32
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(RawServer(echo)) for _ in range(90)]
        done = subprocess.run(['prlimit', f'--nofile={2 * parallel + 12}', HEADGATE, 'fetch', '--parallel',
                               str(parallel), '--output', 'out', *(server.url for server in servers)],
                              cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and SUMMARY.match(done.stderr.splitlines()[-1])[1] == '90', done.stderr


def test_a_server_that_drips_does_not_hold_up_the_others(fetch):
    """Its share of --parallel is one half: all of the other's URLs are answered before it goes on."""
    ready, release = threading.Event(), threading.Event()

    def drip(path, number, headers):
        if path == '/first':  # after it, the pacer permits several at the same time
            return response(200, OPEN, b'x')
        return trickle()

    def trickle():
        yield b'HTTP/1.1 200 OK\r\nRateLimit: "p";r=1000;t=1\r\nContent-Length: 2\r\n\r\nx'
        ready.set()
        release.wait(20)
        yield b'x'

    def quick(path, number, headers):
        ready.wait(20)
        if path == '/19':
            release.set()
        return echo(path, number, headers)

    with RawServer(drip) as slow, RawServer(quick) as other:
        # In the order of their origins the slow one comes first.
        got = fetch('--parallel', '4', '--max-time', '15s', '--output', 'o', f'{slow.url}/first',
                    *(f'{slow.url}/{i}' for i in range(8)), *(f'{other.url}/{i}' for i in range(20)))
    assert got.code == 0 and got.fetched == 29, got
    assert got.seconds < 15


@pytest.mark.parametrize('drip', [b'x', b''], ids=['drips', 'is silent'])
def test_a_url_that_takes_too_long_is_given_up(fetch, drip):
    ended = threading.Event()

    def answer(path, number, headers):
        yield b'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n'
        while not ended.wait(0.05):
            yield drip

    with RawServer(answer) as server:
        got = fetch('--max-time', '500ms', server.url)
        ended.set()
        assert len(server.paths) == 1  # another try would take as long
    assert got.code == 1 and b'longer than --max-time allows' in got.err, got
    assert got.seconds < 10


@pytest.mark.parametrize('announced', [True, False])
def test_a_body_that_is_too_large_is_given_up(fetch, tmp_path, announced):
    def answer(path, number, headers):
        if path == '/fits':
            return response(200, OPEN, b'x' * 4096)
        head = b'Content-Length: 4097' if announced else b'Connection: close'
        return b'HTTP/1.1 200 OK\r\n' + head + b'\r\n\r\n' + b'x' * 4097

    with RawServer(answer) as server:
        got = fetch('--max-size', '4KiB', '--output', 'o', f'{server.url}/fits', f'{server.url}/large')
        assert len(server.paths) == 2
    assert got.code == 1 and (got.fetched, got.failed) == (1, 1), got
    assert b'larger than --max-size allows' in got.err
    assert sorted(os.listdir(tmp_path / 'o')) == ['.headgate-fetch', 'fits']


def test_time_and_size_are_bounded_unless_told_otherwise(fetch):
    said = fetch('--help').out.decode()
    # CLI11 2.5 writes a default in brackets.
    assert re.search(r'--max-size SIZE(=1GiB| \[1GiB\])', said) and re.search(r'--max-time TIME(=10m| \[10m\])', said)


def test_a_journal_that_is_a_pipe_is_refused(fetch, tmp_path):
    (tmp_path / 'o').mkdir()
    os.mkfifo(tmp_path / 'o/.headgate-fetch')
    got = fetch('--output', 'o', 'http://127.0.0.1:1/')
    assert got.code == 1 and b'o/.headgate-fetch: is not a regular file' in got.err, got


def test_a_redirect_to_another_origin_counts_there(fetch):
    with RawServer(lambda *_: response(200, [('RateLimit', '"p";r=0;t=3600')], b'x')) as other:
        def answer(path, number, headers):
            return response(302, [('Location', other.url + path)])
        with RawServer(answer) as server:
            got = fetch('--max-wait', '5s', f'{server.url}/1', f'{server.url}/2')
            assert len(server.paths) == 2
        assert len(other.paths) == 1
    assert (got.fetched, got.failed) == (1, 1) and other.url in got.err.decode(), got


def test_a_redirect_to_another_origin_waits_as_it_is_told(fetch):
    with RawServer(echo) as there:
        to = [('Location', f'{there.url}/there'), ('Retry-After', '1')]
        with RawServer(lambda *_: response(302, to)) as here:
            got = fetch('--parallel', 2, f'{here.url}/a', f'{there.url}/b')
            assert got.code == 0 and got.out == b'/there\n/b\n', got
            assert there.paths == ['/b', '/there'], 'no other request waits'
            assert got.waiting >= 0.9, got
            refused = fetch('--max-wait', '500ms', f'{here.url}/a')
    assert refused.code == 1 and b'(Retry-After: 1)' in refused.err, refused


def test_a_redirect_to_another_origin_delays_nothing_at_its_own(fetch):
    with RawServer(echo) as there:
        def answer(path, number, headers):
            if path != '/away':
                return echo(path, number, headers)
            return response(302, [('Location', f'{there.url}/there'), ('Retry-After', '3600')])
        with RawServer(answer) as here:
            got = fetch('--max-wait', '5s', '--parallel', 1, *(f'{here.url}/{name}' for name in ('away', 'b', 'c')))
            assert here.paths == ['/away', '/b', '/c'], got
    assert (got.fetched, got.failed) == (2, 1) and not there.paths, got
    assert b'/there: the server asks for a longer wait than --max-wait allows (Retry-After: 3600)' in got.err


def test_fields_of_the_command_line_do_not_follow_to_another_origin(fetch):
    with RawServer(echo) as other:
        def answer(path, number, headers):
            return response(302, [('Location', other.url + '/x')])
        with RawServer(answer) as server:
            got = fetch('--header', 'Authorization: Bearer s3cret', '--header', 'X-Api-Key: s3cret',
                        '--header', 'User-Agent: s3cret', server.url)
            assert server.headers[0]['authorization'] == 'Bearer s3cret'
            assert server.headers[0]['x-api-key'] == server.headers[0]['user-agent'] == 's3cret'
    assert got.code == 0
    assert 's3cret' not in str(other.headers) and other.headers[0]['user-agent'].startswith('headgate/')


def test_fields_of_the_command_line_are_sent_again_at_their_own_origin(fetch):
    with RawServer(echo) as home:
        with RawServer(lambda path, *_: response(302, [('Location', home.url + '/back')])) as other:
            home.answer = lambda path, number, headers: (
                response(302, [('Location', other.url)]) if path == '/' else echo(path, number, headers))
            assert fetch('--header', 'X-Api-Key: s3cret', home.url).code == 0
    assert 'x-api-key' not in other.headers[0] and home.headers[1]['x-api-key'] == 's3cret'


def test_a_loop_of_redirects_ends(fetch):
    with RawServer(lambda *_: response(302, [('Location', '/again')])) as server:
        got = fetch(server.url)
    assert got.code == 1 and b'more than 10 redirects' in got.err
    with RawServer(lambda *_: response(302, [('Location', 'file:///etc/passwd')])) as server:
        got = fetch(server.url)
    assert got.code == 1 and got.out == b'' and b'expected http:// or https://' in got.err


def test_errors_are_failures_and_leave_no_file(fetch, tmp_path):
    def answer(path, number, headers):
        return response(404, [], b'nope') if path == '/gone' else echo(path, number, headers)

    with RawServer(answer) as server:
        got = fetch('--output', 'out', f'{server.url}/gone', f'{server.url}/there')
    assert got.code == 1 and (got.fetched, got.failed) == (1, 1)
    assert f'{server.url}/gone: the server answers 404' in got.err.decode()
    assert sorted(os.listdir(tmp_path / 'out')) == ['.headgate-fetch', 'there']


def test_a_server_that_is_not_there_fails_at_once(fetch):
    got = fetch('http://127.0.0.1:1/')
    assert got.code == 1 and got.failed == 1 and got.seconds < 10, got


def test_denials_are_waited_for_and_tried_again(fetch):
    def answer(path, number, headers):
        if number == 0:
            return response(429, [('Retry-After', '1')], b'no')
        return echo(path, number, headers)

    with RawServer(answer) as server:
        got = fetch(f'{server.url}/a')
    assert got.code == 0 and got.out == b'/a\n'
    assert (got.fetched, got.denied) == (1, 1) and 0.9 <= got.waiting <= 3, got


@pytest.mark.parametrize('limited, fetched', [
    ([('X-RateLimit-Limit', '60'), ('X-RateLimit-Remaining', '0'), ('X-RateLimit-Reset', '1')], 1),
    ([('Retry-After', '1')], 1),
    ([('X-RateLimit-Limit', '60'), ('X-RateLimit-Remaining', '59'), ('X-RateLimit-Reset', '1')], 0)])
def test_a_403_that_says_how_long_to_wait_is_a_denial(fetch, limited, fetched):
    def answer(path, number, headers):
        return response(403, limited, b'no') if number == 0 else echo(path, number, headers)

    with RawServer(answer) as server:
        got = fetch(f'{server.url}/a')
    assert (got.fetched, got.denied, got.failed) == (fetched, fetched, 1 - fetched), got
    assert got.waiting >= 0.9 * fetched, got


def test_tries_are_bounded(fetch):
    with RawServer(lambda *_: response(429, [('Retry-After', '0')])) as server:
        got = fetch('--retry', 1, server.url)
        assert len(server.paths) == 2
    assert got.code == 1 and b'denied: 429, 2 times' in got.err, got


def test_a_connection_that_breaks_is_tried_again(fetch):
    def answer(path, number, headers):
        if number == 0:
            return response(200, [], b'whole', close=True)[:-2]
        return response(200, [], b'whole')

    with RawServer(answer) as server:
        got = fetch(f'{server.url}/a')
    assert got.code == 0 and got.out == b'whole', got


def test_bodies_that_break_at_once_are_tried_again(fetch, tmp_path):
    """One after the other: --rate keeps the second one from starting before the first has its head."""
    both = threading.Barrier(2)

    def answer(path, number, headers):
        if path != '/first' and number == 0:
            both.wait(20)
            return response(200, [], b'whole', close=True)[:-2]
        return response(200, [], b'whole')

    with RawServer(answer) as server:
        got = fetch('--rate', 5, '--output', 'out', *(f'{server.url}/{name}' for name in ('first', 'a', 'b')))
    assert got.code == 0 and got.fetched == 3, got
    files = {file.name: file.read_text() for file in (tmp_path / 'out').iterdir()}
    assert files.pop('.headgate-fetch') and files == dict.fromkeys(('first', 'a', 'b'), 'whole')


def test_the_summary_as_json(fetch):
    def answer(path, number, headers):
        return response(500) if path == '/bad' else echo(path, number, headers)

    with RawServer(answer) as server:
        got = fetch('--json', '--output', 'out', f'{server.url}/a', f'{server.url}/bad')
    summary = json.loads(got.out)
    assert (summary['fetched'], summary['failed'], summary['requests']) == (1, 1, 2)
    assert summary['failures'] == [{'url': f'{server.url}/bad', 'why': 'the server answers 500'}]
    assert got.summary and got.code == 1


def test_wrong_usage(fetch, tmp_path):
    (tmp_path / 'list').write_text('http://ok.example/\nnot a url\nftp://x/\n')
    for arguments, words in [
            ([], 'nothing to fetch'),
            (['ftp://a/'], 'expected http:// or https://'),
            (['--header', 'no colon', 'http://a/'], 'expected a field'),
            (['--header', 'a: b\r\nc: d', 'http://a/'], 'expected a field'),
            (['--header', 'X-Api-Key: ', 'http://a/'], 'expected a field'),
            (['--max-wait', 'soon', 'http://a/'], 'is not a duration'),
            (['--max-time', '0', 'http://a/'], '--max-time "0" is out of range'),
            (['--max-size', '1 MB', 'http://a/'], '--max-size "1 MB" is not a size'),
            (['--parallel', '0', 'http://a/'], '--parallel'),
            (['--mode', 'fast', 'http://a/'], '--mode')]:
        got = fetch(*arguments)
        assert got.code == 2 and words in got.err.decode(), (arguments, got)
    got = fetch('--input', 'list')
    assert got.code == 1 and b'list:2: ' in got.err and b'list:3: ' in got.err
    got = fetch('--input', 'missing')
    assert got.code == 1 and b'missing: cannot be read: No such file or directory' in got.err, got
    got = fetch('--input', tmp_path, 'http://127.0.0.1:1/')
    assert got.code == 1 and b'cannot be read: Is a directory' in got.err and not got.summary, got
    done = subprocess.run(f'{HEADGATE} fetch --input - < .', shell=True, cwd=tmp_path,
                          capture_output=True, timeout=60)
    assert done.returncode == 1 and b'-: cannot be read: Is a directory' in done.stderr, done


@pytest.mark.skipif(os.getuid() != 0, reason='only root can become another user, who may not write')
@pytest.mark.parametrize('below', ('', 'new', 'new/er'))
def test_a_directory_without_permission_is_named(below):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to other users
        os.chmod(folder, 0o755)
        closed = os.path.join(folder, 'closed')
        os.mkdir(closed, 0o700)
        done = subprocess.run([HEADGATE, 'fetch', '--output', os.path.join(closed, below), 'http://127.0.0.1:1/'],
                              capture_output=True, text=True, timeout=60, user=65534, group=65534,
                              extra_groups=[], cwd='/')
    assert done.returncode == 1, done
    assert done.stderr.startswith(f'headgate fetch: {closed}'), done.stderr
    assert 'Permission denied; expected a directory that can be written' in done.stderr
    assert 'filesystem error' not in done.stderr


def test_a_closed_standard_output_is_a_failure(tmp_path):
    with RawServer(echo) as server:
        done = subprocess.run(f'{HEADGATE} fetch {server.url}/a >&-', shell=True, cwd=tmp_path,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and 'standard output' in done.stderr, done


def test_a_full_standard_output_ends_it():
    """More bodies than may wait for their turn: those behind the first one are not fetched, or not written."""
    with RawServer(echo) as server, open('/dev/full', 'w') as full:
        done = subprocess.run([HEADGATE, 'fetch', '--rate', '1000000', *(f'{server.url}/{i}' for i in range(400))],
                              stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1, done
    fault, summary = done.stderr.splitlines()
    assert fault == 'headgate fetch: standard output: No space left on device; 400 left'
    assert summary.startswith('0 fetched, 0 denied, 0 failed, '), summary


@pytest.mark.parametrize('ends', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_nothing_reads_its_output(ends):
    with RawServer(lambda *_: response(200, [], b'x' * 1_000_000)) as server:
        process = subprocess.Popen([HEADGATE, 'fetch', f'{server.url}/a', f'{server.url}/b'],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            select.select([process.stdout], [], [], 20)  # the body is longer than a pipe
            process.send_signal(ends)
            assert process.wait(20) == 1
        finally:
            process.kill()
            process.stdout.close()
            said = process.stderr.read()
    assert 'interrupted' in said and SUMMARY.match(said.splitlines()[-1]), said


def test_progress_is_shown_on_a_terminal_only(tmp_path, fetch):
    def answer(path, number, headers):
        return response(200, [('RateLimit', '"burst";r=9;t=2'),
                              ('RateLimit-Policy', '"burst";q=10;w=2')], b'x')

    with RawServer(answer) as server:
        urls = [f'{server.url}/{i}' for i in range(14)]
        assert b'\r' not in fetch(*urls).err
        master, slave = pty.openpty()
        with subprocess.Popen([HEADGATE, 'fetch', '--output', 'o', *urls], cwd=tmp_path,
                              stderr=slave) as process:
            os.close(slave)
            shown = b''
            while True:
                try:
                    part = os.read(master, 4096)
                except OSError:
                    break
                shown += part
    os.close(master)
    assert process.returncode == 0
    assert b'/14  ' in shown and b' of 10 left (burst)' in shown and b'ETA 0:0' in shown, shown
