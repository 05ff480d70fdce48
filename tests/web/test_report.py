"""The page of `headgate simulate --report`, in a real browser."""
import subprocess

import pytest

from support.environment import HEADGATE, ROOT

LOG = ROOT / 'tests/cli/logs/small.log'
POLICIES = """version: 1
policies:
  - {name: "<b>burst&amp;", quota: 2, window: 1m}
  - {name: logins, quota: 3, window: 1h, match: [{path: /login}], key: ["header:user-agent"]}
  - {name: unused, quota: 1, window: 1s, match: [{path: /nowhere}]}
"""
ATTACK = '<script>document.title="taken"</script><img src="http://127.0.0.1:1/x" onerror=alert(1)>'


@pytest.fixture
def report(tmp_path):
    (tmp_path / 'p.yaml').write_text(POLICIES)
    hostile = ''.join(
        f'192.0.2.66 - - [29/Mar/2026:00:40:00 +0000] "GET /login HTTP/1.1" 200 5 "-" "{ATTACK}"\n'
        .replace('GET /login', 'GET /login' if i % 2 else f'GET /{ATTACK}').replace('"http', '\\"http')
        .replace('/x"', '/x\\"').replace('="taken"', '=\\"taken\\"') for i in range(40))
    (tmp_path / 'hostile.log').write_text(hostile)
    result = subprocess.run(
        [HEADGATE, 'simulate', '--config', 'p.yaml', '--report', 'r.html', LOG, 'hostile.log'],
        cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return tmp_path / 'r.html'


def shown(browser, selector):
    return browser.js('[...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects()'
                      '.length > 0).length', selector)


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('width', [360, 768, 1280])
def test_it_fits_and_loads_nothing(browser, report, width, scheme):
    browser.look_like(width, scheme)
    browser.driver.get(report.as_uri())
    assert browser.errors() == []
    assert [url for url in browser.requested() if url.startswith(('http', 'ws', 'ftp'))] == []
    assert browser.js('document.documentElement.scrollWidth <= document.documentElement.clientWidth')
    assert browser.js('document.title').startswith('headgate simulate')
    plots = shown(browser, 'svg')
    assert plots >= 1 + 2 * 2 + 2  # traffic; demand and algorithms of two policies; timelines
    assert shown(browser, 'svg text') > 6 * plots
    background = browser.js('getComputedStyle(document.body).backgroundColor')
    assert background == ('rgb(255, 255, 255)' if scheme == 'light' else 'rgb(13, 17, 23)')


def test_hostile_text_is_only_text(browser, report):
    browser.driver.get(report.as_uri())
    assert browser.js('document.querySelectorAll("script, img, b[onerror]").length') == 0
    assert any('<script>' in text for text in browser.texts('code'))
    assert '<b>burst&amp;' in browser.text('h2 code')


def test_it_reports_what_was_denied(browser, report):
    browser.look_like(1280)
    browser.driver.get(report.as_uri())
    text = browser.text('main')
    for heading in ('By policy', 'By path', 'Timelines of the most denied',
                    'The busiest window under each algorithm'):
        assert heading in text
    assert 'No request came to it.' in text
    axes = set(browser.js('[...document.querySelectorAll("svg text")].map(e => e.textContent)'))
    assert 'time in 2026 [UTC]' in axes and 'time on Mar 29, 2026 [UTC]' in axes, axes
    assert '192.0.2.66' in text and '192.0.2.7' in text
    # Every row's share follows from its figures.
    rows = browser.js('[...document.querySelectorAll("tbody tr")].map(row => [...row.cells].map('
                      'cell => cell.innerText.replace(/,/g, "")))')
    assert len(rows) > 20
    for _, denied, of, share in (row for row in rows if row[2] != '0'):
        assert abs(100 * int(denied) / int(of) - float(share.split()[0])) < 0.06


def bars(browser, table):
    """(width of the bar, denied) of each row of the table, in their order."""
    return browser.js("""[...arguments[0].querySelectorAll('tbody tr')].map(row => [
        parseFloat(row.cells[0].style.getPropertyValue('--part')), +row.cells[1].innerText.replace(/,/g, '')])""", table)


def test_what_the_tables_show_is_their_order(browser, tmp_path):
    (tmp_path / 'p.yaml').write_text("""version: 1
policies:
  - {name: burst, quota: 5, window: 1m}
  - {name: trial, quota: 2, window: 1m, mode: shadow}
  - {name: bytes, quota: 3145728, window: 1h, unit: content-bytes, cost: response-bytes}
""")
    result = subprocess.run([HEADGATE, 'simulate', '--config', str(tmp_path / 'p.yaml'), '--suggest', '99%',
                             '--report', 'r.html', str(LOG)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert str(tmp_path) not in (tmp_path / 'r.html').read_text(), 'who gets it need not know where the files are'
    assert str(LOG.parent) not in (tmp_path / 'r.html').read_text()
    browser.driver.get((tmp_path / 'r.html').as_uri())
    text = browser.text('main')
    assert 'p.yaml' in text and LOG.name in text
    policies = browser.js('[...document.querySelectorAll("table")]')[0]
    denied = bars(browser, policies)
    assert denied == sorted(denied, reverse=True) and denied[0][0] == 100
    for width, count in denied:
        assert abs(width - 100 * count / denied[0][1]) < 0.06
    assert {row.split()[-3] for row in policies.text.splitlines()[1:]} == {result.stdout.split()[0].replace(',', '')}
    assert browser.texts('.shadow')[0] == 'shadow'
    assert 'would have been denied at least once' in text
    assert '3 MiB in 1 h' in text and 'quota 3 MiB' in browser.js(
        '[...document.querySelectorAll("svg text")].map(e => e.textContent).join("|")')
    for line in result.stdout.splitlines():
        if line.strip().startswith('quota '):
            assert line.strip() in text, 'the suggestion is in the report, too'


def test_it_prints(browser, report):
    browser.driver.get(report.as_uri())
    browser.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'media': 'print'})
    assert shown(browser, '.wide svg') > 0 and shown(browser, '.narrow svg') == 0
    assert len(browser.driver.print_page()) > 10_000
