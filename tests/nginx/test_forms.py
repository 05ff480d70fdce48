"""The forms of the fields, and which of their values a policy file hides."""
import base64
import email.utils
import time

import pytest

from support.policies import YEAR, policies, policy

TWO = (policy('burst', 5, '100s'), policy('daily', 100))
NAMES = {
    'ratelimit': ['RateLimit-Policy', 'RateLimit'],
    'draft-07': ['RateLimit-Policy', 'RateLimit'],
    'draft-06': ['RateLimit-Policy', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    'draft-03': ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    'x-ratelimit': ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
}


def limit_headers(response):
    return [(k, v) for k, v in response.headers if 'ratelimit' in k.lower()]


def number(response, name):
    return int(response.one(name))


@pytest.mark.parametrize('form', NAMES)
def test_each_alone(nginx, form):
    server = nginx(policies(*TWO, fields=form))
    response = server.request('/none')
    assert [k for k, _ in limit_headers(response)] == NAMES[form]
    values = dict(limit_headers(response))
    if form == 'draft-07':
        assert values == {'RateLimit-Policy': f'5;w=100, 100;w={YEAR}',
                          'RateLimit': 'limit=5, remaining=4, reset=80'}
    elif form == 'draft-06':
        assert values == {'RateLimit-Policy': f'5;w=100, 100;w={YEAR}', 'RateLimit-Limit': '5',
                          'RateLimit-Remaining': '4', 'RateLimit-Reset': '80'}
    elif form == 'draft-03':
        assert values == {'RateLimit-Limit': f'5, 5;w=100, 100;w={YEAR}',
                          'RateLimit-Remaining': '4', 'RateLimit-Reset': '80'}
    elif form == 'x-ratelimit':
        assert values == {'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '4',
                          'X-RateLimit-Reset': '80'}


@pytest.mark.parametrize('forms', [('x-ratelimit', 'ratelimit', 'draft-03'),
                                   ('draft-07', 'draft-03', 'x-ratelimit'),
                                   ('draft-06', 'x-ratelimit')], ids='+'.join)
def test_together_in_the_order_of_the_file(nginx, forms):
    server = nginx(policies(policy(quota=1, window='100s'), fields=f'[{", ".join(forms)}]'))
    for status in 404, 429:
        response = server.request('/none')
        assert response.status == status
        assert [k for k, _ in limit_headers(response)] == [name for form in forms for name in NAMES[form]]
    waits = {v for k, v in limit_headers(response) if k.endswith('Reset')}
    assert waits == {response.one('Retry-After')}


def test_a_clash_has_its_place(nginx):
    accepted, said = nginx(policies(*TWO, fields='[ratelimit, draft-06]'), run=False).test()
    assert not accepted
    assert "headgate.yaml:2:21: fields 'draft-06' and 'ratelimit' both send RateLimit-Policy" in said


def test_older_forms_do_not_count_other_units(nginx):
    server = nginx(policies(policy('data', 3, unit='content-bytes'), policy('burst', 5),
                            fields='[ratelimit, draft-03]'))
    response = server.request('/none')
    assert response.one('RateLimit-Policy') == \
        f'"data";q=3;qu="content-bytes";w={YEAR}, "burst";q=5;w={YEAR}'
    assert response.one('RateLimit-Limit') == f'5, 5;w={YEAR}'
    assert response.one('RateLimit-Remaining') == '4'


def test_what_is_never_admitted_has_no_reset(nginx):
    server = nginx(policies(policy(quota=0), fields='[draft-03, x-ratelimit]'))
    denied = server.request('/none')
    assert (denied.status, denied.one('Retry-After')) == (429, None)
    assert limit_headers(denied) == [('X-RateLimit-Limit', '0'), ('X-RateLimit-Remaining', '0')]


def test_a_unix_reset_is_read_against_date(nginx):
    server = nginx(policies(*TWO, fields='[ratelimit, x-ratelimit-unix]'))
    before = time.time()
    response = server.request('/none')
    after = time.time()
    t = int(response.one('RateLimit').split(';t=')[1].split(',')[0])
    now = int(response.one('X-RateLimit-Reset')) - t
    date = email.utils.parsedate_to_datetime(response.one('Date')).timestamp()
    assert max(before, date) <= now < after + 1


def test_only_the_closest(nginx):
    server = nginx(policies(policy('few', 3, '100s'),
                            policy('fine', 10, '100s', cost='{request-header: x-cost}'),
                            report='closest', fields='[ratelimit, x-ratelimit]'))

    def request(cost):
        response = server.request('/none', headers=[('X-Cost', str(cost))])
        name = response.one('RateLimit').split('"')[1]
        assert response.one('RateLimit-Policy').split('"')[1::2] == [name]
        assert response.one('RateLimit').count('"') == 2
        return response, name

    response, name = request(7)
    assert (response.status, name, response.r) == (404, 'few', 2)
    response, name = request(9)
    assert (response.status, name, response.r) == (429, 'fine', 3), 'one that denied'
    assert response.one('RateLimit').split(';t=')[1] == response.one('Retry-After')
    assert response.one('X-RateLimit-Reset') == response.one('Retry-After')


def test_only_below_a_share_of_the_quota(nginx):
    server = nginx(policies(policy(quota=4), report_when='below 50%', fields='draft-07'))
    assert [limit_headers(server.request('/none')) != [] for _ in range(5)] == [False, False, True, True, True]


def test_partition_keys(nginx):
    def keys(server, client):
        response = server.request('/none', headers=[('X-Client', client)])
        found = [response.one(name).split(';pk=')[1] for name in NAMES['ratelimit']]
        assert found[0] == found[1] and found[0][0] == found[0][-1] == ':'
        return base64.b64decode(found[0][1:-1], validate=True)

    keyed = policy(key='["header:x-client"]')
    plain = nginx(policies(keyed, partition_key='plain'))
    assert keys(plain, 'alice') == b'alice' and keys(plain, 'bob') == b'bob'
    opaque = [nginx(policies(keyed, partition_key='opaque')) for _ in range(2)]
    seen = {(keys(server, client), len(keys(server, client)))
            for server in opaque for client in ('alice', 'bob')}
    assert len(seen) == 4 and {length for _, length in seen} == {16}, \
        'another client or another secret, another key; the same of both, the same'
    omit = nginx(policies(keyed))
    assert ';pk=' not in omit.request('/none').head


def test_jitter_only_adds_and_to_all_alike(nginx):
    server = nginx(policies(policy(quota=1, window='1000s'), retry_after_jitter='50%',
                            fields='[ratelimit, draft-03, x-ratelimit]'))
    first = server.request('/none')
    assert number(first, 'RateLimit-Reset') == 1000, 'none on an admission'
    waits = []
    for _ in range(50):
        denied = server.request('/none')
        wait = number(denied, 'Retry-After')
        assert int(denied.one('RateLimit').split(';t=')[1]) == wait
        assert number(denied, 'RateLimit-Reset') == number(denied, 'X-RateLimit-Reset') == wait
        waits.append(wait)
    # The exact wait is 1000 s minus the time that the test took.
    assert min(waits) > 900 and max(waits) <= 1500 and len(set(waits)) > 10
    assert max(waits) > 1000, 'something was added'
