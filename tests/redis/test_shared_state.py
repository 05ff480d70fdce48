"""One partition that machines share: any server shows it, and gives its quota back."""
import json

from support.http_client import request

ADMIN = 'may-give-quotas-back'
POLICIES = '''
version: 1
store: {{redis: {{nodes: ["{node}"], timeout: 5s}}}}
policies:
  - {{name: burst, quota: 3, window: 1h}}
  - {{name: window, quota: 3, window: 1h, algorithm: fixed-window}}
  - {{name: moving, quota: 3, window: 1h, algorithm: moving-window}}
'''


def test_a_reset_at_one_server_counts_for_all(serve, redis, tmp_path):
    admin = tmp_path / 'admin'
    admin.write_text(ADMIN + '\n')
    admin.chmod(0o600)
    policies = POLICIES.format(node=redis().node)
    one, other = (serve(policies, arguments=('--admin-token-file', admin)) for _ in range(2))

    def left(server, policy, method='GET'):
        answer = request(server.port, f'/v1/state/{policy}/10.0.0.2', method,
                         headers={'Authorization': f'Bearer {ADMIN}'})
        assert answer.status == 200, answer.text
        state = json.loads(answer.text)
        assert state['outage'] is False
        return state['r']

    def spend(server, policy):
        body = json.dumps({'checks': [{'policy': policy, 'key': '10.0.0.2'}]})
        return json.loads(request(server.port, '/v1/decide', 'POST', body).text)['admitted']

    for policy in ('burst', 'window', 'moving'):
        assert [spend(one, policy) for _ in range(4)] == [True, True, True, False]
        assert left(other, policy) == 0
        assert left(one, policy, 'DELETE') == 3
        assert left(other, policy) == 3
        assert [spend(one, policy) for _ in range(4)] == [True, True, True, False]
