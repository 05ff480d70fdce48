"""What people look at and change in a running server, nginx or gateway: /v1/state, /v1/overrides, and the
commands for them.

`server` has the port, and beneath which path the rest is: `base`, if it is not the root."""
import json
import re
import subprocess

from support.environment import HEADGATE, PATIENCE
from support.http_client import request

ADMIN = 'may-change-quotas-here'


def ask(server, path, method='GET', body=None, token=None):
    """The response, whose body is in `text`."""
    headers = {'Content-Type': 'application/json'} if body is not None else {}
    if token:
        headers['Authorization'] = f'Bearer {token}'
    return request(server.port, getattr(server, 'base', '') + path, method, body, headers=headers)


def change(server, method, path, body=None, status=200, token=ADMIN):
    body = json.dumps(body) if isinstance(body, dict) else body
    answer = ask(server, f'/v1/overrides/{path}', method, body, token)
    assert answer.status == status, answer.text
    return json.loads(answer.text)


def put(server, path, status=200, **override):
    return change(server, 'PUT', path, override, status)


def listed(server):
    return json.loads(ask(server, '/v1/overrides').text)['overrides']


def state(server, path, method='GET', token=None, status=200):
    answer = ask(server, f'/v1/state/{path}', method, token=token)
    assert answer.status == status, answer.text
    return json.loads(answer.text)


def quota(server, path):
    return state(server, path)['quota']


def metric(server, name):
    text = ask(server, '/metrics').text
    return {labels: int(value) for labels, value in
            re.findall(rf'^{name}(?:{{(.*)}})? (\d+)$', text, re.M)}


def run(server, command, *words, status=0, token_file=None):
    """What `headgate COMMAND` prints."""
    arguments = ['--admin-token-file', token_file] if token_file else []
    url = f'http://127.0.0.1:{server.port}{getattr(server, "base", "")}'
    done = subprocess.run([HEADGATE, command, '--url', url, *arguments, *words], capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == status, done
    assert bool(done.stderr) == (status != 0), done.stderr
    return done.stdout or done.stderr
