"""The dashboard of nginx with the module, in a real browser: at the gateway's port, and beneath a prefix."""
import contextlib
import pathlib
import shutil
import tempfile
import threading

import pytest

from support.admin import put
from support.gateway import Echo, Gateway
from support.http_client import Connection

POLICIES = '''
version: 1
partition-key: plain
policies:
  - {name: burst, quota: 5, window: 1h}
  - {name: daily, quota: 1000000, window: 1d}
  - {name: trial, quota: 1, window: 1d, mode: shadow}
'''


class Visitor:
    """Requests / until it ends."""

    def __init__(self, port):
        self.port = port
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with Connection(self.port) as connection:
            while not self.ended.wait(0.02):
                with contextlib.suppress(OSError):  # the server has ended
                    connection.request('/')

    def end(self):
        self.ended.set()
        self.thread.join()


@pytest.fixture
def visitor():
    running = []

    def start(port):
        running.append(Visitor(port))
    yield start
    for one in running:
        one.end()


@pytest.fixture
def gateway():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='headgate-test-'))
    directory.chmod(0o755)
    upstream = Echo()
    started = Gateway(directory, POLICIES, upstream.url, '--metrics', '127.0.0.1:0')
    yield started
    started.end()
    upstream.close()
    shutil.rmtree(directory)


def check_what_it_shows(browser):
    browser.until_live()
    browser.until(lambda: '127.0.0.1' in browser.text('#busiest'))
    browser.until(lambda: 'burst' in browser.text('#most-denied'))
    assert browser.texts('#policies tbody th .name') == ['burst', 'daily', 'trial']
    assert browser.errors() == []
    assert all(url.startswith(browser.origin) for url in browser.requested())


def test_at_the_port_of_the_metrics(gateway, visitor, browser):
    visitor(gateway.port)
    browser.open(gateway.metrics_port)
    check_what_it_shows(browser)


def test_beneath_a_prefix(nginx, visitor, browser):
    server = nginx(POLICIES, workers=2, server='''
        location / { return 200 "hello"; }
        location /private/limits/ { headgate off; headgate_dashboard; allow 127.0.0.1; deny all; }''')
    visitor(server.port)
    browser.origin = f'http://127.0.0.1:{server.port}/private/limits/'
    browser.driver.get(browser.origin)
    check_what_it_shows(browser)


def test_overrides_of_nginx_are_listed(nginx, admin_token, browser):
    server = nginx(POLICIES, gate='headgate_config headgate.yaml; headgate on; headgate_overrides overrides;', server=f'''
        location /headgate/ {{ headgate off; headgate_dashboard; headgate_admin_token_file {admin_token}; }}''')
    server.base = '/headgate'
    browser.origin = f'http://127.0.0.1:{server.port}/headgate/'
    browser.driver.get(browser.origin)
    browser.until_live()
    put(server, 'burst/10.0.0.2', quota=50, reason='demo')
    browser.until(lambda: len(browser.texts('#overrides tbody tr')) == 1)
    assert all(word in browser.texts('#overrides tbody tr')[0] for word in ('burst', '10.0.0.2', '50', 'demo'))
    assert browser.errors() == []
