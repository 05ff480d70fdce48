"""A response that already has rate limit fields: upstream's stay, ours are added, stale ones go."""
import json
import pathlib

import pytest

from support.policies import ONE, policies, policy

VECTORS = pathlib.Path(__file__).parents[1] / 'vectors/fields/merge.json'
CASES = json.loads(VECTORS.read_text())['cases']
LIMITS = ('ratelimit', 'ratelimit-policy', 'server', 'x-ratelimit-limit', 'x-ratelimit-remaining')


@pytest.fixture
def gateway(nginx, upstream):
    """gateway(policies) returns get(lines, status): the client's response if upstream answers so."""
    def start(policy_file, **kwargs):
        said = []
        origin = upstream(lambda *_: said[-1])
        server = nginx(policy_file, server=f'''location / {{
            proxy_pass_header Server; proxy_pass http://127.0.0.1:{origin.port}; }}''', **kwargs)

        def get(lines, status=200, **kwargs):
            said.append((status, lines, b''))
            return server.request(**kwargs)
        return get
    return start


@pytest.mark.parametrize('case', [c for c in CASES if 'pk' not in str(c['own'])],
                         ids=lambda c: c['id'])
def test_vectors(gateway, case):
    own = case['own']
    file = policies(policy('edge', 10, '1s') if own else policy('edge', mode='off'),
                    upstream_prefix='gw-')
    response = gateway(file)([tuple(line) for line in case['upstream']])
    ours = {'"edge"', '"gw-edge"'}
    got = [(k, v) for k, v in response.headers if k.lower() in LIMITS]
    if not any(k == 'Server' for k, _ in case['expect']):
        got = [line for line in got if line[0] != 'Server']
    expected = [tuple(line) for line in case['expect']]
    for (k, v), (wanted_k, wanted_v) in zip(got, expected, strict=True):
        assert k == wanted_k
        own_line = k == 'RateLimit' and v.split(';')[0] in ours and v not in \
            [line[1] for line in case['upstream']]
        if own_line:  # its r and t are the gateway's
            assert v.split(';')[0] == wanted_v.split(';')[0]
        else:
            assert v == wanted_v


# Fields of upstream, and which forms of ours can be added to them.
DIALECTS = {
    'current': ([('RateLimit-Policy', '"o";q=9;w=60'), ('RateLimit', '"o";r=1;t=5')],
                {'ratelimit', 'draft-03', 'x-ratelimit'}),
    'current, one field': ([('ratelimit', '"o";r=1;t=5')],
                           {'ratelimit', 'draft-03', 'x-ratelimit'}),
    'draft-07': ([('RateLimit-Policy', '9;w=60'), ('RateLimit', 'limit=9, remaining=1, reset=5')],
                 {'draft-03', 'x-ratelimit'}),
    'draft-06': ([('RateLimit-Policy', '9;w=60'), ('RateLimit-Limit', '9'),
                  ('RateLimit-Remaining', '1'), ('RateLimit-Reset', '5')],
                 {'ratelimit', 'x-ratelimit'}),
    'draft-03': ([('RateLimit-Limit', '9, 9;w=60'), ('RateLimit-Remaining', '1'),
                  ('RateLimit-Reset', '5')],
                 {'ratelimit', 'draft-07', 'x-ratelimit'}),
    'one of three': ([('RATELIMIT-REMAINING', '1')], {'ratelimit', 'draft-07', 'x-ratelimit'}),
    'gitlab': ([('RateLimit-Limit', '9'), ('RateLimit-Observed', '8'),
                ('RateLimit-Remaining', '1'), ('RateLimit-Reset', '1700000000')],
               {'ratelimit', 'draft-07', 'x-ratelimit'}),
    'github': ([('X-RateLimit-Limit', '9'), ('X-RateLimit-Remaining', '1'),
                ('X-RateLimit-Reset', '1700000000'), ('X-RateLimit-Used', '8')],
               {'ratelimit', 'draft-07', 'draft-06', 'draft-03'}),
    'kong': ([('X-RateLimit-Limit-Minute', '9'), ('X-RateLimit-Remaining-Minute', '1')],
             {'ratelimit', 'draft-07', 'draft-06', 'draft-03'}),
    'twitter': ([('x-rate-limit-limit', '9'), ('x-rate-limit-remaining', '1')],
                {'ratelimit', 'draft-07', 'draft-06', 'draft-03'}),
}
OWN = {
    'ratelimit': [('RateLimit-Policy', '"edge";q=10;w=1000'), ('RateLimit', '"edge";r=9;t=900')],
    'draft-07': [('RateLimit-Policy', '10;w=1000'),
                 ('RateLimit', 'limit=10, remaining=9, reset=900')],
    'draft-06': [('RateLimit-Policy', '10;w=1000'), ('RateLimit-Limit', '10'),
                 ('RateLimit-Remaining', '9'), ('RateLimit-Reset', '900')],
    'draft-03': [('RateLimit-Limit', '10, 10;w=1000'), ('RateLimit-Remaining', '9'),
                 ('RateLimit-Reset', '900')],
    'x-ratelimit': [('X-RateLimit-Limit', '10'), ('X-RateLimit-Remaining', '9'),
                    ('X-RateLimit-Reset', '900')],
}


def of_limits(response):
    return [(k, v) for k, v in response.headers
            if k.lower().startswith(('ratelimit', 'x-ratelimit', 'x-rate-limit'))]


@pytest.mark.parametrize('own', OWN)
def test_upstream_of_every_dialect_stays_and_ours_is_added_where_it_fits(gateway, own):
    by_dialect = policy('edge', 10, '1000s', key='["header:x-dialect"]')
    get = gateway(policies(by_dialect, fields=own))
    for dialect, (lines, room_for) in DIALECTS.items():
        response = get(lines, headers=[('X-Dialect', dialect)])
        ours = OWN[own] if own in room_for else []
        if (dialect, own) == ('draft-06', 'ratelimit'):
            ours = ours[1:]  # upstream's RateLimit-Policy has a form to which ours cannot be added
        assert of_limits(response) == lines + ours, (dialect, own)


def test_where_one_form_has_no_room_another_may(gateway):
    # draft-07 has no room for ours, the three fields of draft-03 have.
    get = gateway(policies(policy('edge', 10, '1000s'), fields='[ratelimit, draft-03]'))
    lines = DIALECTS['draft-07'][0]
    assert of_limits(get(lines)) == lines + OWN['draft-03']


@pytest.mark.parametrize('own, dropped', [('ratelimit', True), ('draft-07', True),
                                          ('draft-06', False), ('draft-03', False),
                                          ('x-ratelimit', False)])
def test_a_malformed_field_goes_only_where_ours_takes_its_place(gateway, own, dropped):
    get = gateway(policies(policy('edge', 10, '1000s'), fields=own))
    malformed = ('RateLimit', '"o";r=x')
    response = get([malformed, ('Server', 's')])
    assert of_limits(response) == ([] if dropped else [malformed]) + OWN[own]


def test_a_request_is_admitted_although_upstream_denied_the_one_before(gateway):
    get = gateway(policies(policy('edge', 10)))
    said = [('RateLimit', '"o";r=0;t=1000'), ('Retry-After', '1000')]
    assert [get(said, 429).status, get([], 200).status] == [429, 200]


def test_another_partition_is_no_clash(gateway):
    get = gateway(policies(policy('edge', 10), partition_key='opaque'))
    response = get([('RateLimit', '"edge";r=1;t=5;pk=:AQ==:')])
    assert response.all('RateLimit')[0] == '"edge";r=1;t=5;pk=:AQ==:'
    assert response.all('RateLimit')[1].startswith('"edge";r=9;t=')


def test_clash_upon_clash(gateway):
    get = gateway(policies(policy('edge', 10)))
    response = get([('RateLimit', '"edge";r=1, "gateway-edge";r=1')])
    assert response.all('RateLimit')[1].startswith('"gateway-gateway-edge";r=9;')


def test_upstream_lines_stay_byte_for_byte(gateway):
    lines = [('ratelimit', '"o";r=1;t=5  ,   "p";r=2'), ('RATELIMIT', '"q";r=3'),
             ('RateLimit-Policy', '"o"; q=1;  w=60;acme="\\"x"')]
    response = gateway(ONE)(lines)
    assert [line for line in response.headers if line in lines] == lines
    assert len(response.all('RateLimit')) == 3 and len(response.all('RateLimit-Policy')) == 2


def test_more_lines_than_anyone_reads(gateway):
    get = gateway(ONE, http='proxy_buffer_size 64k; proxy_buffers 8 64k;')
    response = get([('RateLimit', f'"o{n}";r=1') for n in range(200)])
    assert len(response.all('RateLimit')) == 200


def test_retry_after_is_never_shortened(gateway):
    get = gateway(ONE)
    assert get([('Retry-After', '77')], 503).one('Retry-After') == '77'


def test_retry_after_of_an_error_page(nginx, upstream):
    said = []
    origin = upstream(lambda *_: (200, [('Retry-After', said[-1])], b'page'))
    server = nginx(policies(policy(quota=1, window='1h')), server=f'''
        error_page 429 /page; location = /page {{ proxy_pass http://127.0.0.1:{origin.port}; }}
        location / {{ return 200; }}''')
    server.request()
    for value, kept in (('999999', True), ('5', False), ('soon', False),
                        ('Thu, 01 Jan 1970 00:00:00 GMT', False),
                        ('Fri, 31 Dec 9999 00:00:00 GMT', True)):
        said.append(value)
        denied = server.request()
        assert (denied.status, denied.body) == (429, b'page')
        ours = denied.one('RateLimit').split(';t=')[1]
        assert denied.one('Retry-After') == (value if kept else ours), value


def test_a_cached_response_has_fields_of_now(nginx, upstream):
    origin = upstream(lambda *_: (200, [
        ('Cache-Control', 'max-age=1000'), ('RateLimit', '"o";r=1;t=5'),
        ('RateLimit-Policy', '"o";q=9;w=60'), ('RateLimit-Reset', '7'),
        ('X-RateLimit-Remaining', '3'), ('X-RateLimit-Used', '6'),
        ('x-rate-limit-reset', '1700000000'), ('Beta-RateLimit', '"o";r=1')], b'kept'))
    server = nginx(ONE, http='proxy_cache_path cache keys_zone=z:1m;', server=f'''
        location / {{ proxy_cache z; add_header X-Cache $upstream_cache_status;
                      proxy_pass http://127.0.0.1:{origin.port}; }}
        location /metrics {{ headgate off; headgate_metrics; }}''')
    miss = server.request()
    assert miss.one('X-Cache') == 'MISS'
    assert miss.all('RateLimit')[0] == '"o";r=1;t=5' and len(miss.all('RateLimit')) == 2
    hit = server.request()
    assert (hit.one('X-Cache'), hit.body, hit.r) == ('HIT', b'kept', 998)
    assert hit.one('RateLimit-Policy').startswith('"burst"')
    assert [k for k, _ in of_limits(hit)] == ['RateLimit-Policy', 'RateLimit']
    assert hit.all('Beta-RateLimit') == []
    assert server.metrics()['headgate_upstream_fields_dropped_total'] == 7
    assert len(origin.requests) == 1


def test_a_range_that_the_response_does_not_have(nginx, upstream):
    said = [('RateLimit-Policy', '"burst";q=9;w=60'), ('RateLimit', '"burst";r=1;t=5')]
    origin = upstream(lambda *_: (200, said, b'content'))
    server = nginx(policies(policy(quota=10, window='1000s'), cors='{expose-headers: true}'),
                   http='proxy_cache_path cache keys_zone=z:1m;', server=f'''
        location / {{ proxy_force_ranges on; proxy_pass http://127.0.0.1:{origin.port};
                      proxy_cache z; proxy_cache_valid 1h; }}
        location /metrics {{ headgate off; headgate_metrics; }}''')
    for theirs, name, r in ((said, 'gateway-burst', 9), ([], 'burst', 7)):  # a miss and a hit
        refused = server.request(headers=[('Range', 'bytes=99999-')])
        assert refused.status == 416
        assert of_limits(refused) == theirs + [('RateLimit-Policy', f'"{name}";q=10;w=1000'),
                                               ('RateLimit', f'"{name}";r={r};t={100 * r}')]
        assert len(refused.all('Access-Control-Expose-Headers')) == 1
        assert server.request().status == 200
    assert server.metrics()['headgate_upstream_fields_dropped_total'] == 4  # two in each of the two hits


def test_the_page_of_such_a_range_may_come_from_an_upstream(nginx, upstream):
    said = [('RateLimit-Policy', '"burst";q=9;w=60'), ('RateLimit', '"burst";r=1;t=5')]
    origin = upstream(lambda *_: (200, said, b'page'))
    server = nginx(policies(policy(quota=10, window='1000s'), cors='{expose-headers: true}'), server=f'''
        location / {{ error_page 416 =200 /page; }}
        location /page {{ max_ranges 0; proxy_pass http://127.0.0.1:{origin.port}; }}''')
    (server.directory / 'html' / 'file').write_text('content')
    page = server.request('/file', headers=[('Range', 'bytes=99999-')])
    assert (page.status, page.body) == (200, b'page')
    assert of_limits(page) == said + [('RateLimit-Policy', '"gateway-burst";q=10;w=1000'),
                                      ('RateLimit', '"gateway-burst";r=9;t=900')]
    assert len(page.all('Access-Control-Expose-Headers')) == 1


def test_an_operator_can_hide_fields_of_upstream(nginx, upstream):
    origin = upstream(lambda *_: (200, [('RateLimit', '"burst";r=1;t=5'),
                                        ('X-RateLimit-Limit', '9')], b''))
    server = nginx(policies(policy(quota=10, window='1000s')), server=f'''
        proxy_hide_header RateLimit; proxy_hide_header X-RateLimit-Limit;
        location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}''')
    assert of_limits(server.request()) == [('RateLimit-Policy', '"burst";q=10;w=1000'),
                                       ('RateLimit', '"burst";r=9;t=900')]


def test_pages_of_other_origins_may_read_both_ours_and_what_upstream_exposes(gateway):
    get = gateway(policies(policy(quota=1), cors='{expose-headers: true}'))
    ours = 'RateLimit-Policy, RateLimit, Retry-After'
    for _ in range(2):  # the second is denied
        response = get([('access-control-expose-headers', 'X-Own')])
        exposed = response.all('Access-Control-Expose-Headers')
        assert exposed == (['X-Own', ours] if response.status == 200 else [ours])
    assert response.status == 429
