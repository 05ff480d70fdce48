"""One quota, spent through nginx, every door of the decision server and the C library in turn."""
import ctypes
import http.client
import json

import pytest

from support import spoe
from support.environment import LIBRARY, PATIENCE
from support.nginx import Nginx
from support.resp import Client as RespClient

CLIENT = '127.0.0.1'
QUOTA = 21  # per week: no unit comes back while the test runs
POLICIES = '''
version: 1
store: {{table: {{memory: 1MiB, file: {table}}}}}
policies:
  - {{name: burst, quota: {quota}, window: 1w, key: [address]}}
'''


class Library:
    """libheadgate.so, as a program in another language loads it."""

    class Check(ctypes.Structure):
        _fields_ = [('policy', ctypes.c_char_p), ('key', ctypes.c_char_p),
                    ('key_size', ctypes.c_size_t), ('cost', ctypes.c_uint64)]

    class Result(ctypes.Structure):
        _fields_ = [('admitted', ctypes.c_int), ('limited', ctypes.c_int),
                    ('quota', ctypes.c_uint64), ('remaining', ctypes.c_uint64),
                    ('reset_s', ctypes.c_int64), ('wait_ns', ctypes.c_int64)]

    def __init__(self, policy_file):
        self.functions = ctypes.CDLL(LIBRARY)
        self.functions.headgate_open.restype = ctypes.c_void_p
        self.functions.headgate_decision_new.restype = ctypes.c_void_p
        words = ctypes.create_string_buffer(1000)
        gate = self.functions.headgate_open(str(policy_file).encode(), words, len(words))
        assert gate, words.value.decode()
        self.gate = ctypes.c_void_p(gate)
        self.decision = ctypes.c_void_p(self.functions.headgate_decision_new())

    def spend(self):
        check = self.Check(b'burst', CLIENT.encode(), len(CLIENT), 1)
        result = self.Result()
        self.functions.headgate_decide(self.gate, self.decision, ctypes.byref(check),
                                       ctypes.c_size_t(1), 0, ctypes.byref(result))
        return bool(result.admitted), result.remaining

    def close(self):
        self.functions.headgate_decision_free(self.decision)
        self.functions.headgate_close(self.gate)


@pytest.fixture
def doors(serve, envoy_client, tmp_path, request):
    """The doors by name: each a function that spends a unit and returns (admitted, r)."""
    policies = POLICIES.format(table=tmp_path / 'table', quota=QUOTA)
    server = serve(policies, doors={kind: '127.0.0.1:0' for kind in ('http', 'resp', 'grpc', 'spoe')})
    (tmp_path / 'nginx').mkdir()
    nginx = Nginx(tmp_path / 'nginx', policies, 'location / { return 200; }').start()
    request.addfinalizer(nginx.stop)
    library = Library(server.policy_file)
    request.addfinalizer(library.close)
    envoy = envoy_client(server.addresses['grpc'])
    resp = RespClient(server.ports['resp'])
    request.addfinalizer(resp.close)
    engine = spoe.Engine(server.ports['spoe'])
    request.addfinalizer(engine.socket.close)
    web = http.client.HTTPConnection('127.0.0.1', server.port, timeout=PATIENCE)
    request.addfinalizer(web.close)

    def r_of(field):
        return int(field.split(';r=')[1].split(';')[0])

    def by_nginx():
        response = nginx.request()
        return response.status == 200, response.r

    def by_auth():
        web.request('GET', '/auth', headers={'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/',
                                             'X-Forwarded-For': CLIENT})
        response = web.getresponse()
        response.read()
        return response.status == 200, r_of(response.getheader('RateLimit'))

    def by_decide():
        web.request('POST', '/v1/decide', json.dumps({'checks': [{'policy': 'burst',
                                                                  'key': CLIENT}]}))
        answer = json.load(web.getresponse())
        return answer['admitted'], answer['results'][0]['r']

    def by_resp():
        admitted, _, r, _, _ = resp.command('HG.DECIDE', 'burst', CLIENT)
        return admitted == 1, r

    def by_grpc():
        response = envoy.decide(f'policy=burst,key={CLIENT}', domain='headgate')
        status = response['statuses'][0]
        return status['code'] == 'OK', status.get('limit_remaining', 0)

    def by_spoe():
        answer = engine.ask(spoe.request(src=CLIENT))
        return answer.verdict == 'admitted', r_of(answer.ratelimit)

    return {'nginx': by_nginx, '/auth': by_auth, '/v1/decide': by_decide, 'RESP': by_resp,
            'gRPC': by_grpc, 'SPOE': by_spoe, 'library': library.spend}


def test_a_unit_spent_through_one_door_is_spent_for_all(doors):
    in_turn = [door for _ in range(QUOTA // len(doors)) for door in doors.items()]
    for spent, (name, spend) in enumerate(in_turn, 1):
        assert spend() == (True, QUOTA - spent), name
    for name, spend in doors.items():
        assert spend() == (False, 0), name
