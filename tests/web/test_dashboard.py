"""The dashboard, which the HTTP door serves at /."""
import json
import re

from support.http_client import request

HOSTILE = '<img src=x onerror=alert(1)>'
HOSTILE_KEY = '<script>document.title = "broken"</script>'

POLICIES = f'''
version: 1
partition-key: plain
policies:
  - {{name: burst, quota: 5, window: 1h}}
  - {{name: '{HOSTILE}', quota: 1000000, window: 1h, key: ['header:x-key']}}
  - {{name: trial, quota: 1, window: 1d, mode: shadow, match: [{{path: '/trial/*', method: POST}}]}}
  - {{name: slots, algorithm: concurrency, quota: 100000, unit: concurrent-requests}}
'''
CHECKS = [('burst', '10.0.0.2'), (HOSTILE, HOSTILE_KEY), ('trial', 'someone'),
          (HOSTILE, 'k' * 300), ('burst', '10.0.0.3')]


def shown(browser, selector):
    """The number at the beginning of an element's text; None if there is none."""
    match = re.match(r'[\d,.]+', browser.text(selector))
    return float(match[0].replace(',', '')) if match else None


def test_it_shows_what_happens(serve, load, browser):
    server = serve(POLICIES)
    running = load(server.port, CHECKS)
    browser.open(server.port)
    browser.until_live()

    browser.until(lambda: (shown(browser, '#requests') or 0) > 0)
    browser.until(lambda: (shown(browser, '#denied') or 0) > 0)
    browser.until(lambda: (shown(browser, '#latency') or 0) > 0)
    assert browser.text('#latency-unit') in ('µs', 'ms')
    assert 'http' in browser.text('#latency-note')

    assert browser.texts('#policies tbody th .name') == ['burst', HOSTILE, 'trial', 'slots']
    rows = browser.texts('#policies tbody tr')
    assert '5 requests per hour' in rows[0]
    assert 'shadow' in rows[2] and '/trial/*' in rows[2]
    assert '100,000 at a time' in rows[3]

    browser.until(lambda: len(browser.texts('#most-denied li')) == 3)
    denied = ' '.join(browser.texts('#most-denied li'))
    assert '10.0.0.2' in denied and '10.0.0.3' in denied
    assert 'trial, shadow' in denied
    browser.until(lambda: len(browser.texts('#busiest li')) == 5)

    doors = browser.texts('#doors .door')
    assert 'p99' in doors[0] and doors[0].startswith('http')
    assert 'Nothing was asked' in doors[1]
    assert '64 MiB' in browser.text('#table-memory')
    assert str(server.policy_file) in browser.text('#footer')

    # The page follows a reload.
    running.end()
    server.reload('version: 1\npolicies: [{name: other, quota: 1, window: 1s}]')
    browser.until('document.querySelector("#policies tbody th").innerText === "other"')
    assert 'read 2 times' in browser.text('#footer')


def test_it_goes_on_while_it_is_looked_at(serve, load, browser):
    server = serve(POLICIES)
    running = load(server.port, [('burst', 'a')])
    browser.open(server.port)
    browser.until_live()

    path = 'document.querySelector("#flow .area.denied")?.getAttribute("d") ?? ""'
    browser.until(f'({path}).length > 0')
    before = browser.js(path)
    browser.until(f'({path}) !== arguments[0]', before)
    drawn = browser.js(path)
    browser.until(f'({path}) !== arguments[0]', drawn)

    running.end()
    browser.until('document.querySelector("#requests").innerText === "0"')


def test_names_and_keys_are_text(serve, load, browser):
    server = serve(POLICIES)
    load(server.port, CHECKS)
    browser.open(server.port)
    browser.until_live()
    browser.until('document.querySelectorAll("#busiest li .key").length === 5')
    assert HOSTILE_KEY in browser.texts('#busiest .key')
    browser.js('document.querySelectorAll("#policies tbody th button")[1].click()')
    assert browser.text('#flow-policy') == HOSTILE
    assert browser.js('document.querySelectorAll("main img, main script").length') == 0
    assert browser.driver.title == 'headgate'
    assert browser.errors() == []
    requested = browser.requested()
    assert len(requested) > 10
    assert [url for url in requested if not url.startswith(browser.origin + '/')] == []


def test_one_client_has_one_row_also_if_keys_are_hidden(serve, browser):
    server = serve("""
version: 1
policies:
  - {name: burst, quota: 5, window: 1h}
  - {name: daily, quota: 1000, window: 1d, denied: {penalty: 30s}}
""")
    for address in ('192.0.2.1', '192.0.2.2', '192.0.2.2'):
        request(server.port, '/auth', headers={'X-Forwarded-For': address})
    browser.open(server.port)
    browser.until_live()
    browser.until('document.querySelectorAll("#busiest li .key").length === 2')
    assert all(re.match(r'burst [\d.]+ /s · daily [\d.]+ /s$', text) for text in browser.texts('#busiest .aside'))
    assert all(re.match(r':[\w+/]{22}==:$', text) for text in browser.texts('#busiest .key'))
    rows = json.loads(request(server.port, '/v1/top').text)['busiest']
    assert len({row['client'] for row in rows}) == 2 and len({row['key'] for row in rows}) == 4
    assert 'penalty of 30 s' in browser.texts('#policies tbody tr')[1]


def test_it_lists_overrides(serve, browser, tmp_path):
    admin = tmp_path / 'admin'
    admin.write_text('may-change-quotas-here\n')
    admin.chmod(0o600)
    server = serve(POLICIES, arguments=('--admin-token-file', admin, '--overrides-file', tmp_path / 'overrides'))
    browser.open(server.port)
    browser.until_live()
    assert browser.js('document.querySelector("#overrides").hidden')

    def put(path, body):
        answer = request(server.port, f'/v1/overrides/{path}', 'PUT', json.dumps(body), headers={
            'Authorization': 'Bearer may-change-quotas-here', 'Content-Type': 'application/json'})
        assert answer.status == 200, answer.text
    put('burst/10.0.0.2', {'quota': 50, 'window': '1m', 'for': '2h', 'reason': HOSTILE_KEY})
    put('burst/10.0.0.3', {'quota': 'unlimited'})
    browser.until(lambda: len(browser.texts('#overrides tbody tr')) == 2)
    rows = browser.texts('#overrides tbody tr')
    assert all(word in rows[0] for word in ('burst', '10.0.0.2', '50 per 1m', ' UTC', HOSTILE_KEY))
    assert all(word in rows[1] for word in ('10.0.0.3', 'unlimited', 'removed'))
    assert '2 overrides' in browser.texts('#policies tbody tr')[0]

    server.reload('version: 1\npolicies: [{name: other, quota: 1, window: 1s}]')
    browser.until(lambda: all('without effect' in row for row in browser.texts('#overrides tbody tr')))


def test_it_fits(serve, load, browser):
    server = serve(POLICIES)
    load(server.port, CHECKS)
    browser.open(server.port)
    browser.until_live()
    browser.until('document.querySelectorAll("#most-denied .key").length === 3')
    for width in (360, 600, 800, 1280):
        browser.look_like(width)
        assert browser.too_wide() == [], width


def test_it_is_readable_in_light_and_dark(serve, load, browser):
    server = serve(POLICIES)
    load(server.port, CHECKS)
    browser.open(server.port)
    browser.until_live()
    browser.until('document.querySelectorAll("#most-denied .key").length === 3')
    grounds = set()
    for scheme in ('light', 'dark'):
        browser.look_like(1280, scheme)
        assert browser.poor_contrast() == [], scheme
        grounds.add(browser.js('getComputedStyle(document.body).backgroundColor'))
    assert len(grounds) == 2
    # Denials do not differ by their colour alone.
    assert 'hatch' in browser.js('getComputedStyle(document.querySelector(".area.denied")).fill')


def test_moments_are_looked_up_with_the_keyboard(serve, load, browser):
    server = serve(POLICIES)
    load(server.port, CHECKS)
    browser.open(server.port)
    browser.until_live()
    browser.until('document.querySelector("#flow .area.admitted")?.getAttribute("d")')
    slider = browser.js('document.querySelector("#flow [role=slider]")')
    value = 'document.querySelector("#flow [role=slider]").getAttribute("aria-valuetext")'
    assert browser.js(value).startswith('now: admitted')
    slider.send_keys('\ue012' * 3)  # left
    browser.until(f'({value}).startsWith("3 s ago: admitted")')
    assert browser.text('#flow-when') == '3 s ago'
    slider.send_keys('\ue011')  # home
    browser.until(f'({value}).startsWith("5 min ago: not seen")')
    slider.send_keys('\ue010')  # end
    browser.until(f'({value}).startsWith("now")')


def test_a_server_that_does_not_answer_is_reported(serve, load, browser):
    server = serve(POLICIES)
    port = server.port
    browser.open(port)
    browser.until_live()
    server.stop()
    browser.until('document.querySelector("#status-text").innerText.includes("does not answer")')
    browser.until('document.querySelector("#flow .gap") !== null')
    assert 'last seen' in browser.text('#status-text')
    again = serve(POLICIES, doors={'http': f'127.0.0.1:{port}'})
    browser.until_live()
    load(again.port, CHECKS)
    browser.until(lambda: (shown(browser, '#requests') or 0) > 0)


def test_an_outage_of_redis_is_shown(redis, serve, load, browser):
    server = redis()
    policy = '{name: shared, quota: 1000000, window: 1h}'
    one = serve(f'version: 1\nstore: {{redis: {{nodes: "{server.node}"}}}}\npolicies: [{policy}]\n')
    load(one.port, [('shared', 'a')])
    browser.open(one.port)
    browser.until_live()
    browser.until('document.querySelector("#redis-facts").innerText.includes("answers")')
    browser.until(r'/Round trips\s+[\d.]*[1-9]/.test(document.querySelector("#redis-facts").innerText)')
    server.kill()
    browser.until('document.querySelector("#redis-facts").innerText.includes("away")')
    browser.until(r'/of shared\s+[\d.]*[1-9]/.test(document.querySelector("#redis-facts").innerText)')
    assert browser.js('document.querySelectorAll("#redis-facts .bad").length') == 3
    for scheme in ('light', 'dark'):
        browser.look_like(360, scheme)
        assert browser.poor_contrast() == [], scheme
        assert browser.too_wide() == []
    browser.look_like(1280)
    server.start()
    browser.until('document.querySelector("#redis-facts").innerText.includes("answers")')
    # Without Redis in the policy file there is nothing to show.
    other = serve(POLICIES)
    browser.open(other.port)
    browser.until_live()
    assert not browser.js('document.querySelector("#redis").checkVisibility()')


def test_the_page_requests_the_token(serve, browser, tmp_path):
    secret = tmp_path / 'token'
    secret.write_text('correct-horse-battery\n')
    server = serve(POLICIES, arguments=('--token-file', secret))
    assert request(server.port, '/').status == 200
    for path in ('/metrics', '/v1/top', '/v1/policies'):
        assert request(server.port, path).status == 401, path
    browser.open(server.port)
    browser.until('!document.querySelector("#token-form").hidden')
    assert not browser.js('document.querySelector("main").checkVisibility()')
    field = browser.js('document.querySelector("#token")')
    field.send_keys('not-the-right-one\ue007')
    browser.until('document.querySelector("#token-fault").innerText !== ""')
    field.clear()
    field.send_keys('correct-horse-battery\ue007')
    browser.until_live()
    assert not browser.js('document.querySelector("#token-form").checkVisibility()')
    assert 'battery' not in browser.driver.current_url


def test_the_page_guards_itself(serve):
    server = serve(POLICIES)
    page = request(server.port, '/')
    assert page.status == 200
    assert page.getheader('Content-Type') == 'text/html; charset=utf-8'
    policy = page.getheader('Content-Security-Policy')
    assert "default-src 'none'" in policy and 'unsafe' not in policy and '*' not in policy
    assert page.getheader('X-Content-Type-Options') == 'nosniff'
    assert not re.search(r'(src|href)="(/|\w+:)', page.text), 'beneath any prefix'
    assert not re.search(r'<[^>]+ (on\w+|style)=', page.text)

    tag = page.getheader('ETag')
    again = request(server.port, '/', headers={'If-None-Match': f'"other", {tag}'})
    assert (again.status, again.text, again.getheader('ETag')) == (304, '', tag)
    assert again.getheader('Content-Security-Policy') == policy
    assert request(server.port, '/', headers={'If-None-Match': '"other"'}).status == 200
    head = request(server.port, '/', 'HEAD')
    assert (head.status, head.text) == (200, '')
    assert int(head.getheader('Content-Length')) == len(page.text.encode())

    for name in set(re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg))"', page.text)):
        assert request(server.port, f'/{name}').status == 200, name
    assert request(server.port, '/nothing.js').status == 404
    assert request(server.port, '/', 'POST', '').status == 405
