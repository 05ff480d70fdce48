"""tests/vectors through `headgate simulate`: every field of every step."""
import json

import pytest

from conftest import ROOT

VECTORS = ROOT / 'tests' / 'vectors'
DENIED = {'lenient': 'free', 'strict': 'spend', 'penalty': '{penalty: %sns}'}


def policy_yaml(name, policy):
    denied = DENIED[policy.get('mode', 'lenient')]
    if '%' in denied:
        denied %= policy['penalty_ns']
    return (f'  - {{name: {name}, quota: {policy["quota"]}, window: {policy["window_ns"]}ns, '
            f'denied: {denied}}}\n')


@pytest.fixture
def replay(headgate, tmp_path):
    """Decisions for a trace under policies, each (name, vector's policy)."""
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


def expected(step):
    """The decision that a step of a linear vector wants."""
    want = step['expect']
    decision = {'admitted': want['allowed'], 'r': int(want['r']),
                'reset': None if want['t'] is None else int(want['t'])}
    if want['allowed']:
        return decision | {'wait': 0, 'wait_ns': 0}
    if want['retry_after'] is None:
        return decision | {'wait': None, 'wait_ns': None}
    return decision | {'wait': int(want['retry_after']), 'wait_ns': int(want['wait_ns'])}


@pytest.mark.parametrize('name', ['linear_lenient', 'linear_strict', 'linear_penalty'])
def test_linear(replay, name):
    sequences = json.loads((VECTORS / f'{name}.json').read_text())['sequences']
    steps = [(sequence, step) for sequence in sequences for step in sequence['steps']]
    trace = []
    for sequence, step in steps:
        line = {'t': int(step['at']), 'policy': sequence['id'], 'key': step['key']}
        if 'op' in step:
            line['op'] = step['op']
        if 'cost' in step:
            line['cost'] = int(step['cost'])
        trace.append(line)
    got = replay([(sequence['id'], sequence['policy']) for sequence in sequences], trace)
    assert len(steps) > 500
    for (sequence, step), decision in zip(steps, got):
        assert decision == expected(step), (sequence['id'], sequence['description'], step)


def test_several_policies_all_or_none(replay):
    every = json.loads((VECTORS / 'policy_set.json').read_text())['sequences']
    sequences = [sequence for sequence in every
                 if all(policy['algorithm'] == 'linear' for policy in sequence['policies'])]
    assert sequences
    for sequence in sequences:
        names = [policy['name'] for policy in sequence['policies']]
        trace = [{'t': int(step['at']), 'policy': names, 'key': 'k',
                  'cost': [int(step['costs'][name]) for name in names]}
                 for step in sequence['steps']]
        got = replay([(policy['name'], policy) for policy in sequence['policies']], trace)
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
