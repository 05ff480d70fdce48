"""headgate simulate on access logs: every count equals the independent count of recount.py."""
import gzip
import json
import os
import pathlib
import pty
import random
import re
import resource
import select
import shutil
import subprocess

import pytest

import recount
from support.access_log import large
from support.environment import HEADGATE, ROOT
from support.terminal import read_to_the_end, shown_on_a_terminal

SMALL = ROOT / 'tests/cli/logs/small.log'
KEYS = ['requests', 'skipped', 'span_s', 'policies', 'admitted', 'denied']


@pytest.fixture(scope='session')
def large_log(tmp_path_factory):
    path = tmp_path_factory.mktemp('logs') / 'large.log'
    path.write_text(large())
    return path


@pytest.fixture(params=['small', 'large'])
def log(request):
    return SMALL if request.param == 'small' else request.getfixturevalue('large_log')


@pytest.fixture
def simulate(headgate, tmp_path):
    def run(*arguments, policy='quota: 20, window: 1m', **options):
        (tmp_path / 'p.yaml').write_text('version: 1\nclient-address: {ipv6-prefix: 128}\n'
                                         f'policies: [{{name: p, {policy}}}]\n')
        return headgate('simulate', '--config', 'p.yaml', *arguments, **options)
    return run


def counts(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize('algorithm', recount.ALGORITHMS)
@pytest.mark.parametrize('q, w', [(1, 1), (5, 60), (20, 60), (50, 3600)])
def test_the_counts_are_those_of_a_plain_computation(simulate, log, algorithm, q, w):
    requests, skipped = recount.read(log)
    result = counts(simulate('--json', log,
                             policy=f'quota: {q}, window: {w}s, algorithm: {algorithm}'))
    assert list(result) == KEYS
    assert result == recount.summary(requests, skipped, algorithm, q, w)


def test_a_candidate_is_counted_as_if_it_replaced_the_policy(simulate):
    requests, skipped = recount.read(SMALL)
    live, other = (recount.summary(requests, skipped, 'linear', q, 60) for q in (20, 5))
    result = counts(simulate('--json', SMALL, policy='quota: 20, window: 1m, candidate: {quota: 5}'))
    candidate = {**other['policies'][0], 'name': 'p (candidate)'}
    assert result == {**live, 'policies': [*live['policies'], candidate]}
    assert candidate['denied'] > live['denied']
    in_force = counts(simulate('--json', SMALL, policy='quota: 20, window: 1m, candidate: {quota: 5, share: 100%}'))
    assert in_force == {**other, 'policies': result['policies']}
    suggested = simulate('--suggest', '99%', SMALL, policy='quota: 20, window: 1m, candidate: {quota: 5, share: 100%}')
    assert suggested.stdout.count('is what it has') == 1, suggested
    text = simulate(SMALL, policy='quota: 20, window: 1m, candidate: {quota: 5}').stdout
    assert '5 requests in 1 min, shadow: it would have denied)' in text


def test_the_order_of_lines_and_files_does_not_matter(simulate, tmp_path):
    whole = counts(simulate('--json', SMALL))
    lines = SMALL.read_text().splitlines(keepends=True)
    random.Random(2).shuffle(lines)
    (tmp_path / 'a').write_text(''.join(lines[:200]))
    (tmp_path / 'b').write_text(''.join(lines[200:]))
    assert counts(simulate('--json', 'b', 'a')) == whole


def test_packed_files_and_standard_input(simulate, tmp_path):
    whole = counts(simulate('--json', SMALL))
    data = SMALL.read_bytes()
    (tmp_path / 'a').write_bytes(gzip.compress(data[:9999]) + gzip.compress(data[9999:]))
    assert counts(simulate('--json', 'a')) == whole
    result = subprocess.run([HEADGATE, 'simulate', '--config', 'p.yaml', '--json', '-'],
                            input=gzip.compress(data), capture_output=True, cwd=tmp_path, timeout=60)
    assert json.loads(result.stdout) == whole
    if shutil.which('zstd'):
        subprocess.run(['zstd', '-q', SMALL, '-o', tmp_path / 'b'], check=True)
        assert counts(simulate('--json', 'b')) == whole
        # As pzstd does: before each frame one that says how long it is.
        (tmp_path / 'c').write_bytes(b'\x50\x2a\x4d\x18\x04\0\0\0\x99\0\0\0' + (tmp_path / 'b').read_bytes())
        assert counts(simulate('--json', 'c')) == whole


def test_a_damaged_packed_file_is_reported(simulate, tmp_path):
    packed = gzip.compress(SMALL.read_bytes())
    (tmp_path / 'cut.gz').write_bytes(packed[:2000])
    for format in 'auto', 'combined':
        result = simulate('--format', format, 'cut.gz')
        assert result.returncode == 1
        assert 'headgate: cut.gz: ends in the middle of what is packed in it (byte 2000)\n' in result.stderr
    (tmp_path / 'bad.gz').write_bytes(packed[:2000] + b'\0' * 50 + packed[2050:])
    assert simulate('bad.gz').returncode == 1
    (tmp_path / 'log.xz').write_bytes(b'\xfd7zXZ\0....')
    assert 'is packed by xz' in simulate('log.xz').stderr


def test_only_members_and_zeros_follow_a_gzip_member(simulate, tmp_path):
    data = SMALL.read_bytes()
    whole = counts(simulate('--json', SMALL))
    first, second = gzip.compress(data[:9999]), gzip.compress(data[9999:])
    for zeros in 1, 300_000:  # more than is read at once
        padding = bytes(zeros)
        (tmp_path / 'padded.gz').write_bytes(first + padding + second + padding)
        assert counts(simulate('--json', 'padded.gz')) == whole
    for between in b'', bytes(300_000):
        for damaged in bytes([second[0] ^ 1]) + second[1:], b'\n':
            (tmp_path / 'damaged.gz').write_bytes(first + between + damaged)
            result = simulate('damaged.gz')
            assert result.returncode == 1 and not result.stdout
            place = len(first + between)
            assert f'headgate: damaged.gz: is not what gzip packs: something else follows (byte {place})' in result.stderr


def test_unreadable_lines_are_reported_with_their_place(simulate):
    result = simulate('--json', SMALL)
    broken = {i for i, line in enumerate(SMALL.read_bytes().split(b'\n')[:-1], 1)
              if not recount.LINE.match(line) or b'30/Feb' in line}
    errors = result.stderr.splitlines()
    assert [line.split(': ')[0] for line in errors[:-1]] == [f'{SMALL}:{n}' for n in sorted(broken)[:5]]
    assert errors[-1] == f'{SMALL}: more such lines follow; they are only counted'


def test_decisions_come_in_the_order_of_the_lines(simulate, tmp_path):
    result = counts(simulate('--json', '--decisions', 'd', SMALL, policy='quota: 3, window: 1m'))
    decisions = [json.loads(line) for line in (tmp_path / 'd').read_text().splitlines()]
    assert len(decisions) == len(SMALL.read_text().splitlines())
    assert sum('error' in decision for decision in decisions) == result['skipped']
    assert sum(decision.get('admitted') is False for decision in decisions) == result['denied'] > 0


JSON_LINES = [
    {'time': '2026-03-29T00:30:00+00:00', 'remote_addr': '192.0.2.7', 'request': 'GET /a HTTP/1.1',
     'status': 200, 'body_bytes_sent': 10, 'http_x_plan': 'free'},
    {'msec': '1774744201.250', 'remote_addr': '192.0.2.7', 'request_method': 'POST',
     'request_uri': '/b?c', 'status': '500', 'bytes_sent': '7', 'http_x_plan': 'free', 'more': {'a': [1]}},
    {'time_local': '29/Mar/2026:02:30:02 +0200', 'remote_addr': '2001:db8::1',
     'request': 'GET / HTTP/2.0', 'status': 200, 'body_bytes_sent': 0, 'http_x_plan': 'p\u00e4id'},
]


def write_json(path, lines):
    path.write_text(''.join(json.dumps(line) + '\n' for line in lines))


def test_json_lines(simulate, tmp_path):
    write_json(tmp_path / 'j', JSON_LINES)
    result = counts(simulate('--json', 'j', policy='quota: 9, window: 1m, key: [header:x-plan]'))
    assert (result['requests'], result['skipped'], result['span_s']) == (3, 0, 2.0)
    assert result['policies'][0]['partitions'] == 2


def test_members_of_json_lines_have_the_names_of_the_options(simulate, tmp_path):
    write_json(tmp_path / 'j', [{'w': 1700000000123, 'who': '192.0.2.7', 'what': '/x', 'p': 'a'},
                                {'w': 1700000001.5, 'who': '192.0.2.7', 'what': '/x', 'p': 'b'}])
    assert simulate('j').returncode == 1
    fields = ['time=w', 'address=who', 'target=what', 'header:x-plan=p']
    options = [part for field in fields for part in ('--field', field)]
    result = counts(simulate('--json', *options, 'j',
                             policy='quota: 9, window: 1m, key: [header:x-plan]'))
    assert (result['requests'], result['span_s']) == (2, 1.377)
    assert result['policies'][0]['partitions'] == 2
    result = simulate('--field', 'tme=w', 'j')
    assert result.returncode == 2
    assert 'expected WHAT=NAME, where WHAT is one of time address' in result.stderr


def test_costs_of_responses_and_refunds_come_from_the_log(simulate, tmp_path):
    write_json(tmp_path / 'j', [{'time': 1000 + i, 'remote_addr': '192.0.2.7', 'request': 'GET / HTTP/1.1',
                                 'status': status, 'body_bytes_sent': 60} for i, status in
                                enumerate([200, 200, 200, 500])])
    by_bytes = counts(simulate('--json', 'j', policy='quota: 100, window: 1d, cost: response-bytes, '
                                                     'unit: content-bytes'))
    assert (by_bytes['admitted'], by_bytes['denied']) == (2, 2)
    assert by_bytes['policies'][0]['peak_window_units'] == 120
    write_json(tmp_path / 'j', [{'time': 1000 + i, 'remote_addr': '192.0.2.7', 'request': 'GET / HTTP/1.1',
                                 'status': 500} for i in range(9)])
    assert counts(simulate('--json', 'j', policy='quota: 2, window: 1d'))['denied'] == 7
    assert counts(simulate('--json', 'j', policy='quota: 2, window: 1d, refund-on: [5xx]'))['denied'] == 0


def test_slots_are_held_as_long_as_the_log_says(simulate, tmp_path):
    def line(ended, took):
        return {'msec': ended, 'request_time': took, 'remote_addr': '192.0.2.7',
                'request': 'GET / HTTP/1.1', 'status': 200}
    # In flight: 0..10, 1..3, 2..4 and, when the second has ended, 3..5.
    write_json(tmp_path / 'j', [line(1003, '2.000'), line(1004, 2), line(1005, 2), line(1010, 10)])
    slots = 'quota: 2, algorithm: concurrency, unit: concurrent-requests'
    result = counts(simulate('--json', '--field', 'duration=request_time', 'j', policy=slots))
    assert (result['admitted'], result['denied']) == (3, 1)
    assert result['policies'][0]['peak_window_units'] == 2
    result = simulate('--json', 'j', policy=slots)
    assert counts(result)['denied'] == 0
    assert 'none is in flight beside another' in result.stderr


def test_fields_that_the_log_does_not_have_are_reported(simulate):
    result = simulate(SMALL, policy='quota: 5, window: 1m, key: [header:x-api-key]')
    assert 'warning: no line tells the request header "x-api-key"' in result.stderr
    assert 'warning' not in simulate(SMALL, policy='quota: 5, window: 1m, key: [header:user-agent]').stderr


def test_variants_are_compared_in_one_pass(simulate):
    requests, skipped = recount.read(SMALL)
    result = counts(simulate('--json', '--compare', 'quota=5,20', '--compare',
                             'algorithm=linear,moving-window', SMALL))
    names = [(variant['variant'], variant['denied']) for variant in result['variants']]
    assert names == [(f'quota {q}, algorithm {name}',
                      recount.summary(requests, skipped, name, q, 60)['denied'])
                     for q in (5, 20) for name in ('linear', 'moving-window')]
    table = simulate('--compare', 'window=1s,1h', SMALL).stdout.splitlines()
    assert [line.split('  ')[0] for line in table[2:]] == ['variant', 'window 1s', 'window 1h']


def test_policy_files_are_compared(simulate, tmp_path):
    (tmp_path / 'q.yaml').write_text('version: 1\npolicies: [{name: q, quota: 1, window: 1h}]\n')
    result = counts(simulate('--json', '--config', 'q.yaml', SMALL))
    assert [variant['variant'] for variant in result['variants']] == ['p.yaml', 'q.yaml']
    for what, value in (('--compare', 'quota=5'), ('--suggest', '99%')):
        one = simulate('--config', 'q.yaml', what, value, SMALL)
        assert (one.returncode, one.stdout, one.stderr) == (2, '', f'headgate: {what}: expected one --config\n')


@pytest.mark.parametrize('files', [[SMALL], ['--config', 'q.yaml', SMALL], ['t.trace']])
def test_an_option_for_other_options_is_not_ignored(simulate, tmp_path, files):
    (tmp_path / 'q.yaml').write_text('version: 1\npolicies: [{name: q, quota: 1, window: 1h}]\n')
    (tmp_path / 't.trace').write_text('{"t": 1, "policy": "p", "key": "a"}\n')
    alone = simulate('--policy', 'p', *files)
    assert (alone.returncode, alone.stdout) == (2, '')
    assert alone.stderr == 'headgate: --policy: expected --compare or --suggest, which it is for\n'


def test_a_policy_whose_requests_others_deny_is_not_without_requests(headgate, tmp_path):
    (tmp_path / 'two.yaml').write_text('version: 1\npolicies: [{name: closed, quota: 0, window: 1m},'
                                       ' {name: web, quota: 1, window: 1m}, {name: idle, quota: 1, window: 1m,'
                                       ' match: [{path: /nowhere}]}]\n')
    result = headgate('simulate', '--config', 'two.yaml', '--report', 'r.html', SMALL)
    assert result.returncode == 0, result.stderr
    web, idle = result.stdout.split('policy "')[2:]
    assert web.endswith('\n  other policies denied every request that came to it\n\n')
    assert idle.endswith('\n  no request came to it\n')
    page = (tmp_path / 'r.html').read_text()
    assert page.count('Other policies denied every request that came to it.') == 1
    assert page.count('No request came to it.') == 1


@pytest.mark.parametrize('compare, what', [('quota=x', 'quota=x is not an integer'),
                                           ('quota', 'quota= '), (['quota=1', 'quota=2'], 'quota= is given twice'),
                                           ('speed=1', 'speed=1 is not known'),
                                           ('algorithm=round', 'algorithm=round is not known')])
def test_a_variant_that_cannot_be_is_reported(simulate, compare, what):
    compares = [compare] if isinstance(compare, str) else compare
    result = simulate(*(f'--compare={one}' for one in compares), SMALL)
    assert result.returncode == 2
    assert what in result.stderr


@pytest.mark.parametrize('algorithm', recount.ALGORITHMS)
@pytest.mark.parametrize('share', ['80%', '95%', '99.9%', '100%'])
def test_the_suggested_quota_is_the_smallest(simulate, algorithm, share):
    requests, _ = recount.read(SMALL)
    wanted = float(share.rstrip('%')) / 100 - 1e-12
    result = counts(simulate('--json', '--suggest', share, SMALL,
                             policy=f'quota: 20, window: 1m, algorithm: {algorithm}'))
    for what, which in (('for_partitions', 0), ('for_requests', 1)):
        quota = result['suggestions'][0][what]['quota']
        assert recount.untouched(requests, algorithm, quota, 60)[which] >= wanted
        assert quota == 1 or recount.untouched(requests, algorithm, quota - 1, 60)[which] < wanted


def test_state_that_a_suggestion_lost_is_reported(simulate, tmp_path):
    line = '10.0.{}.{} - - [29/Mar/2026:00:31:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"\n'
    (tmp_path / 'm').write_text(''.join(line.format(i // 250, i % 250) for i in range(3000)))
    # Enough memory for one quota, and not for several at the same time.
    arguments = ['--memory', '192KiB', 'm']
    assert simulate(*arguments).stderr == ''
    assert 'found no room' in simulate('--suggest', '99%', *arguments).stderr


def test_a_report_that_cannot_be_written_is_reported_before_the_work(simulate, tmp_path):
    result = simulate('--report', 'nowhere/r.html', SMALL)
    assert result.returncode == 1 and result.stdout == ''
    assert result.stderr == 'headgate: nowhere/r.html: No such file or directory\n'
    (tmp_path / 'r.html').write_text('older')
    assert simulate('--report', 'r.html', SMALL, 'missing.log').returncode == 1
    assert (tmp_path / 'r.html').read_text() == 'older'
    assert simulate('--report', 'new.html', SMALL, 'missing.log').returncode == 1
    assert not (tmp_path / 'new.html').exists()


def test_a_request_that_no_policy_decides_is_denied_in_every_output(headgate, tmp_path):
    each = ''.join(f'  - {{name: p{i}, quota: 5, window: 1m, match: [{{path: "/p/*"}}]}}\n' for i in range(129))
    (tmp_path / 'many.yaml').write_text(f'version: 1\npolicies:\n{each}'
                                        '  - {name: hosts, quota: 5, window: 1m, match: [{host: "*.example"}]}\n')
    (tmp_path / 'l.log').write_text(''.join(json.dumps({
        'time': 1700000000 + i, 'remote_addr': '192.0.2.1', 'request': f'GET {path} HTTP/1.1', 'host': host}) + '\n'
        for i, (path, host) in enumerate((('/', 'a..example'), ('/p/1', 'a.example'), ('/', 'a.example')))))
    result = headgate('simulate', '--config', 'many.yaml', '--decisions', 'd', 'l.log')
    assert result.returncode == 0, result.stderr
    decisions = [json.loads(line) for line in (tmp_path / 'd').read_text().splitlines()]
    assert [(one['admitted'], one['wait']) for one in decisions] == [(False, None), (False, None), (True, 0)]
    assert '1 admitted, 2 denied' in result.stdout
    assert '1 of them denied before any policy decides: it has a host that is malformed\n' in result.stdout
    assert '1 of them denied before any policy decides: it has more policies than may decide' in result.stdout


@pytest.mark.parametrize('option', ['--decisions', '--report', '--plot'])
@pytest.mark.parametrize('name', ['log', 'p.yaml', 'link'])
def test_a_file_that_is_read_is_not_replaced(simulate, tmp_path, option, name):
    text = SMALL.read_text()
    (tmp_path / 'log').write_text(text)
    (tmp_path / 'link').symlink_to('log')
    result = simulate(option, name, './log')
    assert result.returncode == 2 and result.stdout == ''
    read = 'p.yaml' if name == 'p.yaml' else './log'
    assert result.stderr == f'headgate: {option} "{name}" would replace {read}, which is read; expected another file\n'
    assert (tmp_path / 'log').read_text() == text


@pytest.mark.parametrize('exists', [False, True])
@pytest.mark.parametrize('one, two', [('out', 'out'), ('out', './out'), ('x/../out', 'link/out')])
def test_two_outputs_need_two_files(simulate, tmp_path, exists, one, two):
    (tmp_path / 'x').mkdir()
    (tmp_path / 'link').symlink_to('.')
    if exists:
        (tmp_path / 'out').write_text('older')
    for last in '--report', '--plot':
        result = simulate('--decisions', one, last, two, SMALL)
        assert (result.returncode, result.stdout) == (2, '')
        assert result.stderr == f'headgate: {last} "{two}" would replace --decisions "{one}"; expected another file\n'
    assert (tmp_path / 'out').exists() == exists
    assert simulate('--decisions', '/dev/null', '--report', '/dev/null', SMALL).returncode == 0


def test_standard_input_is_read_once(simulate):
    result = simulate('-', '-')
    assert (result.returncode, result.stdout) == (2, '')
    assert 'standard input can be read only once' in result.stderr


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_report_that_is_not_whole_is_removed(simulate, tmp_path):
    (tmp_path / 'r.html').write_text('older')
    result = simulate('--report', 'r.html', SMALL, preexec_fn=small_files)
    assert result.returncode == 1, result
    assert result.stderr.endswith('\nheadgate: r.html: File too large\n')
    assert not (tmp_path / 'r.html').exists()
    result = simulate('--report', '/dev/full', SMALL)
    assert result.returncode == 1 and result.stderr.endswith('\nheadgate: /dev/full: No space left on device\n')
    assert pathlib.Path('/dev/full').exists(), 'a device is not removed'


def test_an_axis_has_both_dates_around_midnight(simulate, tmp_path):
    line = '192.0.2.7 - - [{}] "GET / HTTP/1.1" 200 5 "-" "x"\n'
    (tmp_path / 'm').write_text(line.format('29/Mar/2026:23:58:30 +0000') +
                                line.format('30/Mar/2026:00:01:00 +0000'))
    assert simulate('--report', 'r.html', 'm').returncode == 0
    assert 'time on Mar 29, 2026 and Mar 30, 2026 [UTC]' in (tmp_path / 'r.html').read_text()


def test_hostile_logs(simulate, tmp_path):
    good = b'192.0.2.7 - - [29/Mar/2026:00:31:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"\n'
    (tmp_path / 'h').write_bytes(
        good + b'\0' * 5000 + b'\n' + bytes(range(256)) + b'\n' + b'x' * 3_000_000 + b'\n'
        + good.replace(b'GET /', b'GET /' + b'a' * 900_000)
        + good.replace(b'2026', b'9999') + good.replace(b'2026', b'0000')
        + good.replace(b'GET / ', b'GET /\x1b[31m\0<script>\xff ') + good[:-1])
    result = simulate('--json', 'h')
    summary = counts(result)
    assert (summary['requests'], summary['skipped']) == (4, 6)  # the bytes 0..255 contain the end of a line
    assert '\x1b' not in result.stderr


def test_an_empty_log_is_no_fault(simulate, tmp_path):
    (tmp_path / 'e').write_text('')
    assert counts(simulate('--json', 'e'))['requests'] == 0
    assert simulate('e', '--report', 'r.html').returncode == 0


def test_progress_is_for_terminals_only(simulate, tmp_path):
    simulate(SMALL)  # writes the policy file
    big = tmp_path / 'big.log'
    command = [HEADGATE, 'simulate', '--config', 'p.yaml', '--suggest', '99%', big]
    shown, log = b'', SMALL.read_bytes() * 10
    while b'%' not in shown:  # until the log takes long enough to show progress, on a machine of any speed
        log *= 2
        big.write_bytes(log)
        shown = shown_on_a_terminal(command, tmp_path)
    assert b'\r\x1b[K' in shown
    piped = subprocess.run(command, capture_output=True, cwd=tmp_path)
    assert piped.returncode == 0 and b'\r' not in piped.stderr


def test_progress_of_a_file_without_a_size_is_in_megabytes(simulate, tmp_path):
    simulate(SMALL)  # writes the policy file
    command = [HEADGATE, 'simulate', '--config', 'p.yaml', '-']
    block = SMALL.read_bytes()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=theirs,
                          cwd=tmp_path) as process:
        os.close(theirs)
        fed, shown = 0, b''
        while b'\r\x1b[K' not in shown:
            process.stdin.write(block)
            fed += 1
            if select.select([ours], [], [], 0)[0]:
                shown += os.read(ours, 65536)
        process.stdin.close()
        shown += read_to_the_end(ours)
    assert process.returncode == 0
    assert re.search(rb'\r\x1b\[Kreading - +\d+ MB', shown)
    piped = subprocess.run(command, input=block * fed, capture_output=True, cwd=tmp_path)
    assert piped.returncode == 0 and b'\r' not in piped.stderr
