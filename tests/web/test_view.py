"""The dashboard with made-up answers: what needs many policies, another server or a prefix."""
import re
import time

import pytest

from support.canned_view import CannedView, policy, ranked

SIX = [policy('burst'), policy('daily', 5000, 86_400_000_000_000), policy('login', 5, penalty_ns=30_000_000_000),
       policy('trial', mode='shadow', key='[header:x-api-key]'), policy('users', key='[header:x-user]'),
       policy('all', key='[]')]


def decisions(name, admitted, denied=0, shadow=0):
    return {('headgate_decisions_total', f'policy="{name}",outcome="{outcome}"'): rate for outcome, rate in
            (('admitted', admitted), ('denied', denied), ('shadow-denied', shadow))}


def requests(admitted, denied, shadow=0):
    return {('headgate_requests_total', f'outcome="{outcome}"'): rate for outcome, rate in
            (('admitted', admitted), ('denied', denied), ('shadow-denied', shadow))}


def latency(door, *counts):
    """A histogram whose buckets grow by these counts per second, from 1 us on."""
    bounds = [f'{digit}e-{decade:02}' for decade in range(6, 0, -1) for digit in (1, 2, 5)]
    return {('headgate_decision_duration_seconds_bucket', f'door="{door}",le="{bound}"'): sum(counts[:i + 1])
            for i, bound in enumerate([*bounds[:len(counts)], '+Inf'])}


@pytest.fixture
def view(browser):
    """view(prefix=..., policies=..., rates=...) starts a server and opens its dashboard."""
    running = []

    def start(**options):
        server = CannedView(**{'prefix': '/gate/', 'policies': SIX, **options})
        running.append(server)
        browser.driver.get(f'{server.url}{server.prefix}')
        browser.until_live()
        return server

    yield start
    for server in running:
        server.close()


def near(browser, selector, value):
    """Waits until the number in an element is about `value`: the machine may be busy."""
    def shown():
        match = re.search(r'[\d,.]+', browser.text(selector))
        return match and abs(float(match[0].replace(',', '')) - value) <= value / 5
    browser.until(shown)


def test_it_counts_requests_first(view, browser):
    rates = requests(50, 50)
    for one in SIX:
        rates.update(decisions(one['name'], 50, 50))
    view(rates=rates)
    near(browser, '#requests', 100)
    near(browser, '#denied', 50)
    assert browser.text('#requests-title') == 'Requests'
    browser.until(lambda: re.search(r'5\d % of all|4\d % of all', browser.text('#denied-note')))
    browser.until(lambda: re.match(r'(5|6)\d\d /s decisions of 6 policies', browser.text('#requests-note')))
    assert browser.text('#flow-what') == 'Requests per second'
    near(browser, '#policies tbody td.number', 50)


def test_an_older_server_counts_decisions(view, browser):
    view(rates={**decisions('burst', 60), **decisions('daily', 60)})
    near(browser, '#requests', 120)
    assert browser.text('#requests-title') == 'Decisions'
    assert browser.text('#requests-note') == 'of 6 policies'
    assert browser.text('#flow-what') == 'Decisions per second'


def test_what_a_server_does_not_have_is_not_shown(view, browser):
    """nginx has no doors and no overrides, and lies beneath a prefix."""
    server = view(rates=requests(5, 5))
    near(browser, '#requests', 10)
    for absent in ('#overrides', '#doors-card', '#latency-tile', '#redis'):
        assert not browser.js('document.querySelector(arguments[0]).checkVisibility()', absent), absent
    assert browser.errors() == []
    requested = browser.requested()
    assert [url for url in requested if not url.startswith(f'{server.url}/gate/')] == []

    # Overrides that may not be seen here do not stop the rest.
    server.metrics['headgate_overrides{policy="burst"}'] = 1
    server.metrics['headgate_reloads_total'] = 7
    browser.until('document.querySelector("#footer").innerText.includes("read 8 times")')
    assert browser.js('document.body.dataset.state') == 'live'


def test_which_program_runs_is_shown(view, browser):
    server = view(rates=requests(1, 0))
    browser.until('document.querySelector("#footer").innerText === "/etc/headgate/policies.yaml"')
    assert browser.text('#version') == '' and browser.text('#uptime') == ''
    server.metrics.update({'headgate_build_info{version="9.8.7"}': 1, 'headgate_reloads_total': 2,
                           'headgate_refused_reloads_total': 1,
                           'headgate_start_time_seconds': int(time.time()) - 11530,
                           'headgate_last_reload_timestamp_seconds': int(time.time()) - 630})
    browser.until('document.querySelector("#version").innerText === "9.8.7"')
    assert browser.text('#uptime') == 'up 3 h 12 min'
    footer = browser.text('#footer')
    assert 'read 3 times; last 10 min' in footer and ' UTC' in footer and '1 reload refused' in footer
    assert 'penalty of 30 s after a denial' in browser.texts('#policies tbody tr')[2]


def test_a_client_has_one_row(view, browser):
    server = view(rates=requests(1, 0))
    server.busiest = [ranked(name, key, rate) for key, rate in (('10.0.0.2', 50), ('10.0.0.3', 20))
                      for name in ('burst', 'daily', 'login')] + [ranked('users', '', 9), ranked('all', '', 8)]
    browser.until(lambda: len(browser.texts('#busiest li')) == 4)
    assert browser.texts('#busiest .key') == ['10.0.0.2', '10.0.0.3', '(no key)', 'everyone']
    assert browser.texts('#busiest .aside')[0] == 'burst 50 /s · daily 50 /s · login 50 /s'
    assert browser.texts('#busiest .amount') == ['50 /s', '20 /s', '9 /s', '8 /s']
    # 12 clients under six policies: ten rows.
    server.busiest = [ranked(one['name'], f'10.0.1.{i}', 99 - i) for i in range(12) for one in SIX[:5]]
    browser.until(lambda: len(browser.texts('#busiest li')) == 10)
    assert browser.texts('#busiest .aside')[0].endswith(' · and 1 policy more')


def test_shadow_denials_are_not_red(view, browser):
    server = view(rates={**requests(1, 1, 1), **decisions('burst', 1, 1), **decisions('trial', 1, 0, 1)})
    server.most_denied = [ranked('trial', 'sk', 9, shadow_per_second=9),
                          ranked('burst', '10.0.0.2', 6, shadow_per_second=2), ranked('login', '10.0.0.3', 3)]
    browser.until(lambda: len(browser.texts('#most-denied li')) == 3)
    kinds = browser.js('[...document.querySelectorAll("#most-denied li")].map('
                       'row => [...row.querySelectorAll(".rank-bar")].map(bar => bar.classList[1]))')
    assert kinds == [['shadow-denied'], ['denied', 'shadow-denied'], ['denied']]
    colours = browser.js('["denied", "shadow-denied"].map(kind => getComputedStyle(document.querySelector('
                         '`.rank-bar.${kind}`)).backgroundColor)')
    assert len(set(colours)) == 2
    browser.until(lambda: 'in shadow' in browser.texts('#policies tbody tr')[3])
    assert browser.js('getComputedStyle(document.querySelectorAll("#policies tbody tr")[3].querySelector('
                      '"[data-label=Denied]")).color') != browser.js(
                          'getComputedStyle(document.body).color')


def test_the_meter_begins_empty(view, browser):
    server = view(rates=requests(1, 0))
    width = 'document.querySelector("#table-meter .fill").getBoundingClientRect().width'
    browser.until(f'{width} > 0')
    for kind in ('narrow', 'wide'):
        del server.metrics[f'headgate_table_kind_cells{{kind="{kind}"}}']
    browser.driver.refresh()
    browser.until_live()
    assert browser.js(width) == 0


@pytest.mark.parametrize('width', [360, 800, 1400])
def test_labels_of_latency_do_not_collide(view, browser, width):
    browser.look_like(width)
    view(rates={**requests(1, 0), **latency('http', *[5] * 18), **latency('resp', *[5] * 9)})
    browser.until('document.querySelectorAll("#doors .bars").length === 2')
    collisions = '''[...document.querySelectorAll("#doors .bars")].flatMap(bars => {
      const boxes = [...bars.querySelectorAll(".bound")].filter(e => e.innerText !== "").map(e => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return [e.innerText, range.getBoundingClientRect()];
      });
      return boxes.slice(1).filter(([, box], i) => box.left < boxes[i][1].right + 3).map(([text]) => text)
          .concat(boxes.length < 2 ? ["too few"] : []);
    })'''
    assert browser.js(collisions) == []
    assert browser.too_wide() == []


def names(browser):
    return browser.texts('#policies tbody th')


def test_a_thousand_policies_are_searched_sorted_and_turned(view, browser):
    routes = [policy(f'route-{i:03}', 10 + i, match=f'{{path: /p{i}}}') for i in range(1000)]
    rates = requests(10, 0)
    for i, route in enumerate(routes):
        rates.update(decisions(route['name'], i / 100, 5 if i == 7 else 0))
    view(policies=routes, rates=rates)
    assert names(browser) == [f'route-{i:03}' for i in range(25)]
    assert browser.text('#page-text') == '1–25 of 1,000'
    click = 'document.querySelector(arguments[0]).click()'

    browser.js(click, '#page-before')  # there is none
    assert names(browser)[0] == 'route-000'
    browser.js(click, '#page-after')
    assert names(browser)[0] == 'route-025' and browser.text('#page-text') == '26–50 of 1,000'

    browser.js(click, 'th[data-column=quota] button')
    assert names(browser)[0] == 'route-999'
    assert browser.js('document.querySelector("th[data-column=quota]").getAttribute("aria-sort")') == 'descending'
    browser.js(click, 'th[data-column=quota] button')
    assert names(browser)[0] == 'route-000'
    browser.js(click, 'th[data-column=denied] button')
    browser.until(lambda: names(browser)[0] == 'route-007')
    assert browser.js('document.querySelector("th[data-column=quota]").getAttribute("aria-sort")') == 'none'

    search = browser.js('document.querySelector("#policy-search")')
    search.send_keys('path: /P99')
    assert sorted(names(browser)) == ['route-099'] + [f'route-{i}' for i in range(990, 1000)]
    assert not browser.js('document.querySelector("#pages").checkVisibility()')
    search.send_keys(' nowhere')
    assert names(browser) == [] and browser.text('#page-text') == 'No policy has these words.'
    # What is written stays while the page is updated.
    seen = browser.js('performance.getEntriesByType("resource").length')
    browser.until('performance.getEntriesByType("resource").length > arguments[0] + 4', seen)
    assert browser.js('document.activeElement.value') == 'path: /P99 nowhere'
    assert browser.errors() == []


def test_a_row_filters_the_chart(view, browser):
    view(rates={**requests(90, 0), **decisions('burst', 60, 30), **decisions('daily', 90)})
    near(browser, '#flow-legend output[data-outcome=admitted]', 90)
    browser.driver.find_element('css selector', '#policies tbody tr td').click()
    near(browser, '#flow-legend output[data-outcome=denied]', 30)
    assert browser.text('#flow-what') == 'Decisions per second'
    assert browser.text('#flow-policy') == 'burst'
    pressed = '[...document.querySelectorAll("#policies tbody button")].map(e => e.getAttribute("aria-pressed"))'
    assert browser.js(pressed) == ['true'] + ['false'] * 5
    browser.look_like(1280)
    assert browser.poor_contrast() == []

    # By keyboard: another one, the same again, and back from the chart.
    buttons = browser.js('[...document.querySelectorAll("#policies tbody button")]')
    buttons[1].send_keys('\ue007')
    assert browser.text('#flow-policy') == 'daily'
    buttons[1].send_keys('\ue007')
    assert not browser.js('document.querySelector("#flow-of").checkVisibility()')
    buttons[0].send_keys(' ')
    assert browser.text('#flow-policy') == 'burst'
    browser.js('document.querySelector("#flow-all")').send_keys('\ue007')
    assert browser.text('#flow-what') == 'Requests per second'
    assert 'true' not in browser.js(pressed)


def test_the_history_survives_a_refresh(view, browser):
    server = view(rates=requests(40, 20))
    server.metrics['headgate_start_time_seconds'] = int(time.time()) - 1000
    server.metrics['headgate_table_live_cells'] = 1
    browser.driver.refresh()  # from here on, it is known when the server was started
    points = '(document.querySelector("#flow .area.admitted")?.getAttribute("d") ?? "").split("L").length'
    browser.until(f'{points} > 12')
    before = browser.js(points)
    browser.driver.refresh()
    browser.until_live()
    browser.until(f'{points} > 3')
    assert browser.js(points) >= before, 'the first readings of the new page go on with those of the old one'
    assert browser.js('sessionStorage.length') == 1

    server.restart()
    server.metrics['headgate_start_time_seconds'] += 999
    browser.driver.refresh()
    browser.until_live()
    browser.until(f'{points} > 1')
    assert browser.js(points) < before
    assert browser.errors() == []


def test_everything_is_reached_by_keyboard_and_has_a_name(view, browser):
    server = view(policies=[policy(f'route-{i:03}') for i in range(60)],
                  rates={**requests(1, 1, 1), **latency('http', 1, 2, 3)})
    server.most_denied = [ranked('route-001', 'x', 9, shadow_per_second=4)]
    server.busiest = [ranked('route-001', 'x', 9)]
    browser.until('document.querySelectorAll("#most-denied .key").length === 1')
    nameless = '''[...document.querySelectorAll("button, input, select, output, [role=slider], [role=meter], table")]
        .filter(e => e.checkVisibility() && !(e.innerText?.trim() && e.tagName === "BUTTON") &&
                     !e.labels?.[0]?.innerText.trim() && !e.getAttribute("aria-label") &&
                     !document.getElementById(e.getAttribute("aria-labelledby"))?.innerText.trim() &&
                     !e.closest(".legend li"))
        .map(e => e.outerHTML.slice(0, 100))'''
    assert browser.js(nameless) == []
    body = browser.driver.find_element('css selector', 'body')
    reached = set()
    for _ in range(45):
        (browser.js('document.activeElement') or body).send_keys('\ue004')  # Tab
        reached.add(browser.js('document.activeElement.id || document.activeElement.role || '
                               'document.activeElement.innerText'))
    assert {'slider', 'policy-search', 'Policy', 'Denied', 'route-000', 'route-024', 'page-after'} <= reached
    for scheme in ('light', 'dark'):
        for width in (400, 900, 1400):
            browser.look_like(width, scheme)
            assert browser.poor_contrast() == [], (scheme, width)
            assert browser.too_wide() == [], (scheme, width)
