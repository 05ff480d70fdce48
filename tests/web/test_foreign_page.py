"""Pages of other sites in a real browser: they can neither spend nor see anything."""
import json

import pytest
from selenium.webdriver.support.wait import WebDriverWait

from support.environment import PATIENCE
from support.http_client import request
from support.raw_server import RawServer, response

POLICIES = 'version: 1\npartition-key: plain\npolicies: [{name: burst, quota: 100, window: 1h}]\n'
PAGE = response(200, [('Content-Type', 'text/html')], b'<!doctype html><title>another site</title>')


@pytest.fixture
def foreign():
    with RawServer(lambda *_: PAGE) as site:
        yield site


def left(server):
    body = json.dumps({'checks': [{'policy': 'burst', 'key': 'a'}], 'op': 'peek'})
    return json.loads(request(server.port, '/v1/decide', 'POST', body).text)['results'][0]['r']


def fetched(browser, url, options):
    """What a page's fetch() gets: the status (0: opaque), or the error."""
    return browser.driver.execute_async_script(
        'const [url, options, done] = arguments;'
        'fetch(url, options).then(async r => done([r.status, await r.text()]), e => done([String(e), ""]))',
        url, options)


@pytest.mark.parametrize('type', ['text/plain', 'application/x-www-form-urlencoded', None])
def test_it_cannot_spend(serve, browser, foreign, type):
    server = serve(POLICIES)
    browser.driver.get(foreign.url)
    body = '{"checks": [{"policy": "burst", "key": "a"}]}'
    for mode in ('no-cors', 'cors'):
        browser.driver.execute_async_script(
            'const [url, body, type, mode, done] = arguments;'
            'fetch(url, {method: "POST", mode, body: type ? new Blob([body], {type}) : new Blob([body])})'
            '.then(() => done(), () => done())',
            f'http://127.0.0.1:{server.port}/v1/decide', body, type, mode)
    browser.driver.execute_async_script(
        'fetch(arguments[0], {mode: "no-cors"}).then(() => arguments[1](), () => arguments[1]())',
        f'http://127.0.0.1:{server.port}/auth')
    assert left(server) == 100
    for door in ('requests', 'busiest'):
        assert not json.loads(request(server.port, '/v1/top').text).get(door)


def test_a_link_cannot_spend(serve, browser, foreign):
    """A page can follow it without a person, again and again in a window of its own."""
    server = serve(POLICIES)
    browser.driver.get(foreign.url)
    browser.driver.execute_script('location = arguments[0]', f'http://127.0.0.1:{server.port}/auth')
    WebDriverWait(browser.driver, PATIENCE).until(lambda driver: 'a page of another site' in driver.page_source)
    assert not json.loads(request(server.port, '/v1/top').text).get('busiest')


def test_a_name_that_points_here_sees_nothing(serve, browser, foreign):
    """DNS rebinding: the page's own name has become the address of this machine."""
    server = serve(POLICIES)
    origin = f'http://evil.example:{server.port}'
    browser.driver.get(origin + '/healthz')  # open to everybody, and now a page of that origin
    for path in ('/v1/top', '/metrics', '/v1/policies'):
        status, text = fetched(browser, origin + path, {})
        assert status == 403
        assert 'expected a Host of this machine' in text
    status, _ = fetched(browser, origin + '/v1/decide', {
        'method': 'POST', 'headers': {'Content-Type': 'application/json'},
        'body': '{"checks": [{"policy": "burst", "key": "a"}]}'})
    assert status == 403
    status, _ = fetched(browser, origin + '/auth', {'headers': {'X-Forwarded-For': '192.0.2.1'}})
    assert status == 403
    assert left(server) == 100
