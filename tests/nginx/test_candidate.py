"""A policy with a candidate: each client gets the numbers in force for it, and the fields tell the truth."""
import re

import pytest

from support.http_client import Connection
from support.policies import YEAR, policies

POLICY = '  - {{name: p, {law}, key: ["header:x-user"], candidate: {{quota: 4, share: 50%}}}}'
# By X-User, the quota in force: the candidate's for a (from 35 % on), the policy's own for b (until 72 %).
KEYS = {'a': 4, 'b': 2}
LAWS = (f'quota: 2, window: {YEAR}s', f'quota: 2, window: {YEAR}s, algorithm: fixed-window',
        f'quota: 2, window: {YEAR}s, algorithm: moving-window')
SERVER = 'location / { return 200 "page"; }'
TELLS = ('location / { add_header X-Verdict $headgate_verdict always; '
         'add_header X-Policy $headgate_policy always; return 200 "page"; }')


def ask(gate, user, **headers):
    with Connection(gate.port) as connection:
        return connection.request('/', headers=[('X-User', user), *headers.items()])


@pytest.mark.parametrize('law', LAWS)
def test_an_obedient_client_of_either_is_never_denied(nginx, law):
    gate = nginx(policies(POLICY.format(law=law)), server=SERVER)
    for user, quota in KEYS.items():
        for left in reversed(range(quota)):
            answer = ask(gate, user)
            assert answer.status == 200
            assert re.match(f'"p";q={quota};w={YEAR}$', answer.one('RateLimit-Policy'))
            assert re.match(f'"p";r={left};t=', answer.one('RateLimit'))
        denied = ask(gate, user)
        assert denied.status == 429
        assert re.match('"p";r=0;t=', denied.one('RateLimit'))


def test_clients_see_the_policys_name_alone(nginx):
    gate = nginx(policies(POLICY.format(law=LAWS[0])), server=TELLS)
    answers = [ask(gate, 'a', Accept='application/problem+json') for _ in range(5)]
    assert [answer.status for answer in answers] == [200] * 4 + [429]
    assert answers[2].one('X-Verdict') == 'shadow-denied'
    assert answers[2].one('X-Policy') == 'p'
    assert answers[4].one('X-Verdict') == 'denied'
    assert answers[4].one('X-Policy') == 'p'
    for answer in answers:
        assert b'candidate' not in answer.body
        assert 'candidate' not in str(answer.headers)
    assert b'"violated-policies":["p"]' in answers[4].body.replace(b' ', b'')
