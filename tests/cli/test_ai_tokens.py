"""examples/ai-tokens does what docs/ai-tokens.md says."""
import json
import pathlib
import subprocess
import sys

import pytest

from support.processes import until

EXAMPLE = pathlib.Path(__file__).parents[2] / 'examples/ai-tokens'


@pytest.fixture
def api():
    process = subprocess.Popen([sys.executable, EXAMPLE / 'api.py', '0'], stdout=subprocess.PIPE,
                               text=True)
    yield f"http://127.0.0.1:{process.stdout.readline().rpartition(':')[2].strip()}"
    process.kill()
    process.wait()


def test_the_worked_example(gateway, api):
    server = gateway((EXAMPLE / 'headgate.yaml').read_text(), '--metrics', '127.0.0.1:0', url=api)

    def ask(key, **more):
        body = json.dumps({'model': 'small', **more,
                           'messages': [{'role': 'user', 'content': 'What are rate limits for?'}]})
        answer = server.request('POST', '/v1/chat/completions', body, {'X-API-Key': key})
        return answer, int(answer.getheader('RateLimit').split(';r=')[1].split(';')[0])

    first, left = ask('me')
    assert first.getheader('RateLimit-Policy') == '"tokens";q=10000;qu="tokens";w=60'
    assert first.getheader('RateLimit') == '"tokens";r=9000;t=54'
    assert json.loads(first.text)['usage']['total_tokens'] == 16
    # 984 of the 1000 units were given back, and one comes back each 6 ms.
    # An answer is complete a moment before it is settled.
    for stream in (True, False):
        def others_are_settled():
            answer, left = ask('me', stream=stream)
            assert answer.text.endswith('data: [DONE]\n\n') == stream
            return 8800 <= left <= 9000
        until(others_are_settled, 'what was reserved is given back')
    assert server.metrics()['headgate_cost_defaulted_total{policy="tokens"}'] == 0, 'all were settled'
