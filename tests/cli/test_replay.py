"""tests/vectors through `headgate simulate`: every field of every step."""
import json

import pytest

from support.environment import ROOT

VECTORS = ROOT / 'tests/vectors'
# The vectors' name of an algorithm, and how a policy file writes it.
ALGORITHMS = {
    'linear': 'linear',
    'exponential': 'exponential',
    'fixed_window': 'fixed-window',
    'fixed_window_aligned': 'fixed-window, aligned: true',
    'moving_window_log': 'moving-window',
    'sliding_window_counter': 'sliding-window-counter',
    'sliding_window_counter_clock': 'sliding-window-counter, aligned: true',
    'concurrency': 'concurrency',
}
# All limiters that a policy file can describe.
FILES = ['linear_lenient', 'linear_strict', 'linear_penalty', 'exponential_lenient',
         'exponential_strict', 'fixed_window', 'fixed_window_aligned', 'fixed_window_count_denied',
         'moving_window_log', 'sliding_window_counter', 'sliding_window_counter_clock',
         'concurrency']


def denied(policy):
    """What a denial charges, as a policy file writes it."""
    if 'penalty_ns' in policy:
        return f'{{penalty: {policy["penalty_ns"]}ns}}'
    return 'spend' if policy.get('mode') == 'strict' or policy.get('count_denied') else 'free'


def policy_yaml(name, algorithm, policy):
    members = [f'name: {name}', f'quota: {policy["quota"]}', f'algorithm: {ALGORITHMS[algorithm]}']
    if algorithm != 'concurrency':
        members += [f'window: {policy["window_ns"]}ns']
    if denied(policy) != 'free':
        members += [f'denied: {denied(policy)}']
    if policy.get('offset_ns'):
        members += [f'offset: {policy["offset_ns"]}ns']
    return f'  - {{{", ".join(members)}}}\n'


@pytest.fixture
def replay(headgate, tmp_path):
    """replay(policies, trace): the decisions of a trace; policies are (name, algorithm, vector's policy)."""
    def run(policies, trace):
        (tmp_path / 'p.yaml').write_text(
            'version: 1\npolicies:\n' + ''.join(policy_yaml(*policy) for policy in policies))
        (tmp_path / 't.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in trace))
        result = headgate('simulate', '--config', 'p.yaml', '--format', 'trace', '--decisions', 'd',
                          't.jsonl')
        assert (result.returncode, result.stderr) == (0, '')
        decisions = [json.loads(line) for line in (tmp_path / 'd').read_text().splitlines()]
        assert len(decisions) == len(trace)
        return decisions
    return run


def trace_line(name, step, number):
    """A step of a vector as a line of a trace."""
    # Vectors of slots have no times, but every line of a trace has one.
    line = {'t': int(step.get('at', 1_700_000_000 * 10**9 + number)), 'policy': name,
            'key': step['key']}
    if step.get('op') in ('peek', 'release'):
        line['op'] = step['op']
    if 'cost' in step:
        line['cost'] = int(step['cost'])
    return line


def optional(number):
    return None if number is None else int(number)


def check(algorithm, step, decision):
    want = step['expect']
    if step.get('op') == 'release':
        assert decision['r'] == want['r']
        return
    assert decision['admitted'] == want['allowed']
    if algorithm == 'exponential':
        # The law computes with doubles, which may come to any value of a range.
        assert want['r_min'] <= decision['r'] <= want['r_max']
        assert (decision['reset'] is None) == (want['t_min'] is None)
        if decision['reset'] is not None:
            assert want['t_min'] <= decision['reset'] <= want['t_max']
        return
    assert (decision['r'], decision['reset']) == (int(want['r']), optional(want['t']))
    if want['allowed']:
        assert (decision['wait'], decision['wait_ns']) == (0, 0)
        return
    assert decision['wait'] == optional(want['retry_after'])
    assert decision['wait_ns'] == optional(want.get('wait_ns'))


@pytest.mark.parametrize('name', FILES)
def test_every_step(replay, name):
    vectors = json.loads((VECTORS / f'{name}.json').read_text())
    algorithm, sequences = vectors['algorithm'], vectors['sequences']
    steps = [(sequence, step) for sequence in sequences for step in sequence['steps']]
    assert len(steps) > 350
    trace = [trace_line(sequence['id'], step, number)
             for number, (sequence, step) in enumerate(steps)]
    got = replay([(sequence['id'], algorithm, sequence['policy']) for sequence in sequences], trace)
    for (sequence, step), decision in zip(steps, got, strict=True):
        try:
            check(algorithm, step, decision)
        except AssertionError as error:
            where = sequence['id'], sequence['description'], step, decision
            raise AssertionError(f'{where}: {error}') from None


def test_several_policies_all_or_none(replay):
    sequences = json.loads((VECTORS / 'policy_set.json').read_text())['sequences']
    assert len(sequences) > 20
    for sequence in sequences:
        names = [policy['name'] for policy in sequence['policies']]
        trace = [{'t': int(step['at']), 'policy': names, 'key': 'k',
                  'cost': [int(step['costs'][name]) for name in names]}
                 for step in sequence['steps']]
        got = replay([(policy['name'], policy['algorithm'], policy) for policy in sequence['policies']], trace)
        for step, decision in zip(sequence['steps'], got):
            want = step['expect']
            where = (sequence['id'], step, decision)
            assert decision['admitted'] == want['allowed'], where
            assert decision['wait'] == (0 if want['allowed'] else want['retry_after']), where
            results = dict(zip(names, decision['results']))
            violated = {name for name in names if not results[name]['admitted']}
            assert violated == set(want['violated']), where
            for name, numbers in want['policies'].items():
                assert results[name]['r'] == int(numbers['r']), where
                assert results[name]['reset'] == numbers['t'], where
