"""The dashboard of a real server, in a real browser."""
import http.client
import itertools
import json
import threading

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from support.environment import PATIENCE

# evil.example is a name that its owner has made to point to this machine.
FLAGS = ('--headless', '--host-resolver-rules=MAP evil.example 127.0.0.1', '--no-sandbox',
         '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync')

# WCAG 2.1, 1.4.3: 4.5:1.
CONTRAST = '''(() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [[r, 0.2126], [g, 0.7152], [b, 0.0722]].reduce((sum, [v, part]) => {
    const c = v / 255;
    return sum + part * (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim() !== '');
    if (!own || e.closest('svg') || e.offsetParent === null) continue;
    // Behind the ranks lie their bars.
    const grounds = [ground(e), ...[...e.parentElement.querySelectorAll('.rank-bar')].map(ground)];
    for (const behind of grounds) {
      const [a, b] = [numbers(getComputedStyle(e).color), behind].map(luminance).sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5) poor.push([e.outerHTML.slice(0, 100), ratio]);
    }
  }
  return poor;
})()'''

# All that lies beyond the right edge.
TOO_WIDE = '''[document.documentElement, ...document.querySelectorAll("body *")].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && Math.max(box.right, e === document.documentElement ? e.scrollWidth : 0) >
         document.documentElement.clientWidth + 0.5;
}).map(e => e.outerHTML.slice(0, 120))'''


class Load:
    """Requests decisions until it ends, for each of `checks`, (policy, key), in turn."""

    def __init__(self, port, checks):
        self.connection = http.client.HTTPConnection('127.0.0.1', port, timeout=PATIENCE)
        self.checks = itertools.cycle(checks)
        self.ended = threading.Event()
        self.requests = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        # At most 200 per second, so that the browser has processor time, too.
        while not self.ended.wait(0.005):
            policy, key = next(self.checks)
            body = json.dumps({'checks': [{'policy': policy, 'key': key}]})
            self.connection.request('POST', '/v1/decide', body)
            response = self.connection.getresponse()
            response.read()
            assert response.status == 200, response.status
            self.requests += 1

    def end(self):
        self.ended.set()
        self.thread.join()
        self.connection.close()


@pytest.fixture
def load():
    running = []

    def start(*arguments):
        running.append(Load(*arguments))
        return running[-1]

    yield start
    for one in running:
        one.end()


@pytest.fixture(scope='session')
def chromium(tmp_path_factory):
    """One browser for all tests: its start takes longer than most of them."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f'--user-data-dir={tmp_path_factory.mktemp("browser")}'):
        options.add_argument(flag)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = webdriver.Chrome(options=options, service=Service('/usr/bin/chromedriver'))
    driver.set_page_load_timeout(PATIENCE)
    yield driver
    driver.quit()


class Browser:
    def __init__(self, driver):
        self.driver = driver

    def reset(self):
        """Leaves the page, and forgets what it logged and what it was made to look like."""
        self.driver.get('about:blank')
        self.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'media': '', 'features': []})
        for log in ('browser', 'performance'):
            self.driver.get_log(log)

    def open(self, port):
        self.origin = f'http://127.0.0.1:{port}'
        self.driver.get(self.origin + '/')

    def js(self, script, *arguments):
        return self.driver.execute_script(f'return {script}', *arguments)

    def text(self, selector):
        return self.js('document.querySelector(arguments[0])?.innerText ?? ""', selector)

    def texts(self, selector):
        return self.js('[...document.querySelectorAll(arguments[0])].map(e => e.innerText)', selector)

    def until(self, what, *arguments):
        """The first true value of a function or a script."""
        value = what if callable(what) else lambda: self.js(what, *arguments)
        try:
            return WebDriverWait(self.driver, PATIENCE, 0.2).until(lambda _: value())
        except Exception:
            raise AssertionError(f'never: {what}; status: {self.text("#status-text")!r}, '
                                 f'{self.errors()}') from None

    def until_live(self):
        self.until('document.body.dataset.state === "live"')

    def look_like(self, width, scheme='light', height=900):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})

    def poor_contrast(self):
        return self.js(CONTRAST)

    def too_wide(self):
        return self.js(TOO_WIDE)

    def errors(self):
        return [entry['message'] for entry in self.driver.get_log('browser')]

    def requested(self):
        """The URLs of everything that it has requested from a server."""
        messages = (json.loads(entry['message'])['message']
                    for entry in self.driver.get_log('performance'))
        urls = [message['params']['request']['url'] for message in messages
                if message['method'] == 'Network.requestWillBeSent']
        return [url for url in urls if url.startswith(('http', 'ws'))]


@pytest.fixture
def browser(chromium):
    one = Browser(chromium)
    one.reset()
    yield one
