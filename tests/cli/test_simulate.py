"""headgate simulate: files, formats and summaries. test_replay.py checks what it decides."""
import json

import pytest

POLICIES = """version: 1
policies:
  - {name: burst, quota: 2, window: 10s}
  - {name: daily, quota: 100, window: 1d}
"""
SECOND = 10**9


def spend(t, key='a', policy='burst', **more):
    return json.dumps({'t': t, 'policy': policy, 'key': key, **more})


@pytest.fixture
def simulate(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text(POLICIES)

    def run(*arguments, **options):
        return headgate('simulate', '--config', 'p.yaml', *arguments, **options)
    return run


@pytest.fixture
def trace(tmp_path):
    def write(*lines, name='t.jsonl'):
        (tmp_path / name).write_text(''.join(line + '\n' for line in lines))
        return name
    return write


def test_the_summary_for_people(simulate, trace):
    result = simulate(trace(spend(0), spend(0), spend(SECOND), spend(SECOND, 'b')))
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout == """4 requests in 1 s: 3 admitted, 1 denied
policy "burst": 2 partitions, 3 admitted, 1 denied, at most 2 units in one window
  "a": 1 denied, 2 admitted
policy "daily": 0 partitions, 0 admitted, 0 denied, at most 0 units in one window
"""


def test_redis_is_not_used(headgate, simulate, trace, tmp_path):
    (tmp_path / 'p.yaml').write_text(POLICIES.replace(
        'policies:', 'store: {redis: {nodes: [a:1]}}\npolicies:'))
    result = simulate(trace(spend(0), spend(0), spend(0)))
    assert result.returncode == 0
    assert result.stderr == ('headgate: warning: store: redis is not used: the table decides, as if all '
                             'requests came to one machine\n')
    assert result.stdout.startswith('3 requests in 0 s: 2 admitted, 1 denied')


def test_the_summary_as_json(simulate, trace):
    result = simulate('--json', trace(spend(0), spend(0), spend(SECOND // 2), spend(5 * SECOND),
                                      spend(5 * SECOND, 'b')))
    assert (result.returncode, result.stderr) == (0, '')
    assert json.loads(result.stdout) == {
        'requests': 5, 'skipped': 0, 'span_s': 5.0, 'admitted': 4, 'denied': 1,
        'policies': [
            {'name': 'burst', 'partitions': 2, 'admitted': 4, 'denied': 1, 'peak_window_units': 3,
             'top_denied': [{'key': 'a', 'denied': 1, 'admitted': 3}]},
            {'name': 'daily', 'partitions': 0, 'admitted': 0, 'denied': 0, 'peak_window_units': 0,
             'top_denied': []}]}


def test_decisions_on_standard_output_leave_the_summary_to_standard_error(simulate, trace):
    result = simulate('--decisions', '-', trace(spend(0)))
    assert result.returncode == 0
    assert result.stdout == '{"admitted": true, "r": 1, "reset": 5, "wait": 0, "wait_ns": 0}\n'
    assert result.stderr.startswith('1 requests')


def test_files_are_one_history_and_a_dash_is_standard_input(headgate, simulate, trace, tmp_path):
    first, second = trace(spend(0), name='1'), trace(spend(0), name='2')
    (tmp_path / 'both').write_text((tmp_path / '1').read_text() + (tmp_path / '2').read_text())
    simulate('--decisions', 'd1', first, second)
    simulate('--decisions', 'd2', 'both')
    assert (tmp_path / 'd1').read_text() == (tmp_path / 'd2').read_text()
    assert json.loads((tmp_path / 'd1').read_text().splitlines()[1])['r'] == 0


def test_lines_are_applied_in_their_order_even_where_time_goes_back(simulate, trace, tmp_path):
    simulate('--decisions', 'd', trace(spend(10 * SECOND, cost=2), spend(0), spend(20 * SECOND)))
    admitted = [json.loads(line)['admitted'] for line in (tmp_path / 'd').read_text().splitlines()]
    assert admitted == [True, False, True]


def test_a_full_disk_is_named_without_the_reason_of_another_failure(simulate, trace):
    beyond = '{"t": 1' + '0' * 400 + ', "policy": "burst", "key": "a"}'  # reading it sets errno
    result = simulate('--format', 'trace', '--decisions', '/dev/full', trace(*[beyond] * 2000))
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.endswith('\nheadgate: /dev/full cannot be written\n'), result.stderr


def test_unreadable_lines_are_skipped_counted_and_reported(simulate, trace, tmp_path):
    result = simulate('--json', '--format', 'trace', '--decisions', 'd',
                      trace('127.0.0.1 - - "GET /"', spend(0), spend(0, policy='weekly'),
                            spend(0, op='release'), spend(1)))
    assert result.returncode == 0
    errors = result.stderr.splitlines()
    assert [line.split(': ')[0] for line in errors] == ['t.jsonl:1', 't.jsonl:3', 't.jsonl:4']
    assert 'expected one object' in errors[0]
    assert '"weekly"' in errors[1]
    assert 'expected refund' in errors[2]
    summary = json.loads(result.stdout)
    assert (summary['skipped'], summary['requests']) == (3, 2)
    decisions = [json.loads(line) for line in (tmp_path / 'd').read_text().splitlines()]
    assert [list(decision)[0] for decision in decisions] == ['error', 'admitted', 'error', 'error',
                                                             'admitted']


def test_nothing_but_unreadable_lines_is_a_fault(simulate, trace):
    result = simulate('--format', 'trace', trace('x', 'y'))
    assert result.returncode == 1
    assert 'no line could be read' in result.stderr


def test_an_empty_trace_is_no_fault(simulate, trace):
    assert simulate('--json', trace()).returncode == 0


def test_files_that_cannot_be_used_are_reported(simulate, trace, tmp_path):
    good = trace(spend(0))
    result = simulate('nowhere')
    assert (result.returncode, result.stderr) == (1, 'headgate: nowhere: No such file or directory\n')
    result = simulate('--decisions', 'no/where', good)
    assert (result.returncode, result.stderr) == (1, 'headgate: no/where: No such file or directory\n')
    (tmp_path / 'p.yaml').write_text('version: 2\n')
    result = simulate(good)
    assert result.returncode == 1
    assert result.stderr.startswith('p.yaml:1:')


@pytest.mark.parametrize('arguments', [['--report', 'r.html'], ['--compare', 'quota=5'],
                                       ['--suggest', '99%'], ['--config', 'p.yaml']])
def test_options_for_access_logs_are_refused(simulate, trace, arguments):
    result = simulate(*arguments, trace(spend(0)))
    assert result.returncode == 2
    assert 'expected access logs, not a trace' in result.stderr


def test_a_trace_behind_an_access_log_is_refused(simulate, trace):
    log = trace('127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5', name='log')
    result = simulate(log, trace(spend(0)))
    assert result.returncode == 2
    assert 't.jsonl: is a trace; expected an access log' in result.stderr


def test_lost_state_is_reported(simulate, trace):
    lines = [spend(0, key=f'k{i}') for i in range(5000)]
    result = simulate('--memory', '16KiB', trace(*lines))
    assert result.returncode == 0
    assert 'found no room' in result.stderr
    assert simulate(trace(*lines)).stderr == ''


@pytest.mark.parametrize('zone, denied', (('Europe/Berlin', 1), ('UTC', 2)))
def test_windows_of_a_calendar_end_when_its_days_do(headgate, trace, tmp_path, zone, denied):
    """The last second of 31 March 2024 in Berlin, where this day has 23 hours, and the second after it."""
    (tmp_path / 'p.yaml').write_text('version: 1\npolicies:\n'
                                     f'  - {{name: daily, rate: 2/day, time-zone: {zone}}}\n')
    midnight = 1711922400 * SECOND
    t = trace(*[spend(midnight - 1, policy='daily')] * 3, spend(midnight, policy='daily'))
    result = headgate('simulate', '--config', 'p.yaml', '--json', t)
    assert (result.returncode, result.stderr) == (0, '')
    assert json.loads(result.stdout)['denied'] == denied
