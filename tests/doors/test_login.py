"""The login policy of README.md, in front of a real Express: no spelling of /login gets past it."""
import random
import re

import pytest

from support import npm
from support.environment import BUILD, ROOT
from support.gateway import Gateway
from support.http_client import Connection
from support.real_servers import Server

QUOTA = 3
SPELLINGS = ['/login', '/Login', '/LOGIN/', '/lOGIN', '/login?x', '/LOGIN/?x=1#y', '/login#x', '/login;x',
             '/login%2f', '//login', '/./login', '/%6cogin', '/login//', '/login/.', '/x/../login',
             '/login;a=b/', '/login%3bx', '\\login', '/login\\', '/%2e/login', 'http://h/Login']


@pytest.fixture(scope='module')
def express():
    try:
        folder = npm.install(ROOT / 'tests/fetch/peers', f'{BUILD}/tests/peers')
    except npm.Unavailable as why:
        pytest.skip(str(why))
    server = Server(['node', folder / 'login.js'], r'^(\d+)$')
    yield server
    server.stop()


@pytest.fixture
def gateway(express, tmp_path):
    """headgate gateway with the policy file that README.md shows, in front of Express."""
    shown = re.search(r'```yaml\n(version: 1\n.*?name: login.*?)```', (ROOT / 'README.md').read_text(),
                      re.DOTALL)[1]
    assert 'match: [{path: /login, method: POST}]' in shown
    one = Gateway(tmp_path, shown, express.url)
    yield one
    one.end()


def status(port, path):
    with Connection(port) as connection:
        return connection.request(path, 'POST').status


def random_spelling(source):
    """A path that Express may route to /login: letters of any case, a slash at the end, a query."""
    path = ''.join(source.choice((c, c.upper())) for c in '/login') + source.choice(('', '/'))
    return path + source.choice(('', '?', '?a=b', '?/x', '#', '#/x'))


def test_no_spelling_gets_past_the_login_policy(gateway, express):
    source = random.Random(1)
    spellings = SPELLINGS + [random_spelling(source) for _ in range(43)]
    reached = [path for path in spellings if status(int(express.url.rpartition(':')[2]), path) == 200]
    assert len(reached) > 40  # the list tests something
    assert [status(gateway.port, path) for path in reached[:QUOTA]] == [200] * QUOTA
    passed = [path for path in spellings if status(gateway.port, path) not in (429, 400)]
    assert not passed
