"""examples/client: both programs are built here, and never denied."""
import os
import re
import subprocess

import pytest

from support.environment import HEADGATE
from support.raw_server import RawServer, response
from support.real_servers import Servers

CLIENTS = os.environ['HEADGATE_EXAMPLES']


class Headgate(Servers):
    def start_express(self, *_):
        pass


@pytest.fixture(scope='module')
def address(tmp_path_factory):
    scratch = tmp_path_factory.mktemp('servers')
    scratch.chmod(0o755)
    scratch.parent.chmod(0o755)  # nginx's workers look into it
    with Headgate(HEADGATE, scratch, 20, 1) as servers:
        yield re.match(r'http://(.*):(\d+)/linear$', servers.urls['headgate, linear']).groups()


def run(program, *arguments):
    return subprocess.run([f'{CLIENTS}/{program}', *arguments], capture_output=True, text=True,
                          timeout=60, env=os.environ | {'no_proxy': '*'})


def test_libcurl(address):
    done = run('polite_curl', 'http://{}:{}/linear/x'.format(*address), '30')
    assert (done.returncode, done.stdout) == (0, '30 fetched, 0 denied\n'), done


@pytest.mark.parametrize('parallel', ['1', '8'])
def test_beast(address, parallel):
    done = run('polite_beast', *address, '/linear/x', '30', parallel)
    assert (done.returncode, done.stdout) == (0, '30 fetched, 0 denied\n'), done


def test_beast_connects_again_after_the_server_has_closed_its_connection():
    def answer(path, number, headers):
        if number in (6, 13):
            return None  # the second request or a later one of its connection
        return response(200, [], b'x', close=number % 5 == 4)

    with RawServer(answer) as server:
        done = run('polite_beast', '127.0.0.1', str(server.port), '/', '15', '1')
    assert (done.returncode, done.stdout) == (0, '15 fetched, 0 denied\n'), done
    assert len(server.paths) == 17


def test_what_is_not_there_is_a_failure():
    assert run('polite_curl', 'http://127.0.0.1:1/', '1').returncode == 1
    assert run('polite_beast', '127.0.0.1', '1', '/', '1', '1').returncode == 1
