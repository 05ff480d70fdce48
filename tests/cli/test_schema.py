"""headgate schema: the same verdicts as the reader's, for what a schema can express."""
import functools
import json
import re
import subprocess

import jsonschema
import pytest
import yaml

from support.environment import HEADGATE, PATIENCE, ROOT

FAULTS = ROOT / 'headgate/policy/file/load_faults_test.cc'

# Faults that no schema can express, by what `check` says: they compare values with each other or with
# files, look into addresses, or depend on what YAML has made of a text.
BEYOND = re.compile('|'.join((
    'duplicate', 'is not an address', 'is a block of', 'an id is', 'takes too long to fill',
    'beyond exact 128-bit arithmetic', 'is not within the window', "can't be read",
    'out of range; expected 1ns',
    "memory '.*' is out of range", 'fe80::1', 'more policies', 'has no meaning here',
    "path 'v1'$", 'out of range; expected 1ms to 5s', "nodes '.*' is there twice",
    'tls has no meaning with a Unix socket', 'unless ', 'candidate of a policy whose name', 'time zone database', 'has another time',
    'is longer than clients wait', 'counts as missing', 'decisions has the file of',
)))


class Loader(yaml.SafeLoader):
    """The core schema of YAML 1.2, as editors read files: `yes`, `off` and 1:30 are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers
            if tag in ('tag:yaml.org,2002:float', 'tag:yaml.org,2002:null')]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver('tag:yaml.org,2002:bool', re.compile('^(true|false)$'), list('tf'))
Loader.add_implicit_resolver('tag:yaml.org,2002:int', re.compile('^[-+]?[0-9]+$'),
                             list('-+0123456789'))
Loader.add_constructor('tag:yaml.org,2002:int', lambda loader, node: int(node.value))


@pytest.fixture(scope='module')
def validator():
    result = subprocess.run([HEADGATE, 'schema'], capture_output=True, text=True, timeout=PATIENCE)
    assert (result.returncode, result.stderr) == (0, '')
    schema = json.loads(result.stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def accepts(validator, text):
    return validator.is_valid(yaml.load(text, Loader))


def complaints(validator, text):
    return [f'{list(error.absolute_path)}: {error.message[:200]}'
            for error in validator.iter_errors(yaml.load(text, Loader))]


EXAMPLES = sorted([*(ROOT / 'examples').rglob('headgate.yaml'), *(ROOT / 'examples/cookbook').glob('*.yaml')])


def good_files():
    for file in EXAMPLES:
        yield file.relative_to(ROOT).as_posix(), file.read_text()
    for page in ('README.md', 'docs/policy-file.md'):
        blocks = re.findall(r'^```yaml\n(.*?)^```', (ROOT / page).read_text(), re.M | re.S)
        for number, text in enumerate(blocks, 1):
            if text.startswith('- '):
                text = 'version: 1\npolicies:\n' + text
            if text.startswith('client-address:'):
                text = 'version: 1\npolicies: []\n' + text
            if text.startswith('version:'):
                yield f'{page}, example {number}', text


@pytest.mark.parametrize('file', [*EXAMPLES, ROOT / 'packaging/headgate.yaml'],
                         ids=lambda file: f'{file.parent.name}/{file.name}')
def test_editors_find_the_schema_of_every_example(file):
    """As docs/install.md tells."""
    first = file.read_text().splitlines()[0]
    assert first == '# yaml-language-server: $schema=/usr/share/headgate/headgate.schema.json'
    assert first in (ROOT / 'docs/install.md').read_text().splitlines()


@pytest.mark.parametrize('name, text', good_files(), ids=lambda value: str(value)[:40])
def test_every_example_is_valid(validator, name, text):
    assert complaints(validator, text) == []


@pytest.mark.parametrize('text', (
    '{name: 5, quota: 0, window: 60}', '{name: a, quota: "7", window: 1w, mode: off}',
    '{name: a, rate: 10 per 2 Hours, unit: true, key: []}', '{name: a, rate: 5 / 250ms, log: 7, '
    'algorithm: moving-window}', '{name: a, burst: 1, count: 2, period: 3s, key: address/56}',
    '{name: a, quota: 1, algorithm: concurrency, lease: 1m, cost: {request-header: x}}',
    '{name: a, quota: 1, window: 1, denied: {penalty: 1}, refund-on: [304, 5xx], reset: next}',
    '{name: a, quota: 1, window: 1, algorithm: fixed-window, aligned: true, offset: 0}',
    '{name: a, quota: 1, window: 1, key: ["header:x", host], overrides: [{ids: [[1, true]], quota: 2}, '
    '{ids: [[a, b], [c, d]], window: 5}, {ids: [[e, f]], quota: unlimited}]}',
    '{name: a, quota: 1, window: 1, denied: spend, cost: request-bytes, status: "0503"}',
    '{name: a, rate: 1 per 01 s, key: [address/1, address/099], delay: 0s}',
    r'{name: a, rate: " 5/month\t"}', r'{name: a, rate: "\t5 per 2 days "}', '{name: a, rate: " 5/day ", time-zone: UTC}',
    '{name: a, quota: 1, window: 1, denied: spend, cost: {request-header: 7}}',
    '{name: a, quota: 1, window: 1, cost: {reserve: "1", settle: response-bytes}}',
    '{name: a, quota: 1, window: 1, cost: {reserve: {request-header: x}, settle: {response-header: 7}}}',
    '{name: a, quota: 1, window: 1, cost: {reserve: {estimate: 9%}, settle: {response-json: a.b-c.$}}}',
    '{name: a, quota: 1, window: 1, cost: {reserve: 0, settle: {response-json: 1.5}}}',
    '{name: a, rate: 5/month, time-zone: UTC, denied: spend}',
    '{name: a, rate: 5/month, time-zone: UTC, candidate: {rate: 4/month, share: 5%}}',
    '{name: a, quota: 1, algorithm: concurrency, candidate: {quota: 4, share: 100%}}',
    '{name: a, rate: 5/s, mode: shadow, candidate: {burst: 4, count: 1, period: 1s, share: 0%}}',
    '{name: a, rate: 5 per 1 Weeks, time-zone: Etc/GMT+5, algorithm: fixed-window, reset: next, '
    'overrides: [{ids: [10.0.0.1], rate: 9/w}, {ids: [10.0.0.2], quota: 7}]}',
    '{name: a, quota: 1, window: 1, match: [{method: GET}, {header: {X-A: 1, B: "*"}, path: "*"}]}'))
def test_spellings_that_the_reader_accepts_are_valid(validator, headgate, tmp_path, text):
    text = 'version: 1\npolicies:\n  - ' + text + '\n'
    (tmp_path / 'p.yaml').write_text(text)
    assert headgate('check', 'p.yaml').stderr == ''
    assert complaints(validator, text) == []


@functools.cache
def bad_files():
    """The bad files of the reader's own test, with their faults."""
    source = FAULTS.read_text()
    wholes = {'in_a_policy': 'version: 1\npolicies:\n  - {{name: a, quota: 1, window: 1s, {}}}\n',
              'cases': 'version: 1\npolicies:\n  - {{name: a, algorithm: concurrency, {}}}\n',
              'calendars': 'version: 1\npolicies:\n  - {{name: a, {}}}\n',
              'in_the_settings': 'version: 1\npolicies: []\n{}\n', 'whole': '{}'}
    files = []
    for name, whole in wholes.items():
        table = re.search(r'constexpr Bad %s\[\] = \{\n(.*?)\n *\};' % name, source, re.S)[1]
        for entry in re.findall(r'^ *\{((?:\s*"(?:[^"\\]|\\.)*")+),((?:\s*"(?:[^"\\]|\\.)*")+)\},',
                                table, re.M):
            yaml_text, faults = (
                ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', part)).encode()
                .decode('unicode_escape').encode('latin-1').decode('utf-8', 'replace')
                for part in entry)
            files.append((whole.format(yaml_text), faults.split('\n')))
    return files


def test_the_readers_bad_files_are_found():
    assert len(bad_files()) > 140


def test_every_fault_that_a_schema_can_express_is_invalid(validator):
    accepted = []
    refused = 0
    for text, faults in bad_files():
        try:
            valid = accepts(validator, text)
        except yaml.YAMLError:
            continue  # editors show these without a schema
        if not valid:
            refused += 1
        elif not any(BEYOND.search(fault) for fault in faults):
            accepted.append((text, faults))
    assert accepted == []
    assert refused > 100


@pytest.mark.parametrize('text', (
    'include: []', 'include: ""', 'include: [a.yaml, ""]', 'policies: [{name: a, rate: 1/s, key: address/0}]',
    'policies: [{name: a, rate: 1/s, key: [address/129]}]', 'policies: [{name: a, rate: 1/0s}]',
    'policies: [{name: a, rate: 1/s, status: "399"}]', 'policies: []\ndecisions: {file: x, sample: 0%}',
    'store: {redis: {nodes: a:1}}\npolicies: [{name: a, rate: 1/s, sharing: leased, delay: 2s}]'))
def test_what_the_reader_refuses_is_invalid(validator, headgate, tmp_path, text):
    (tmp_path / 'p.yaml').write_text(f'version: 1\n{text}\n')
    assert headgate('check', 'p.yaml').returncode == 1
    assert not accepts(validator, f'version: 1\n{text}\n')


def test_unknown_keys_and_wrong_types_are_invalid_at_every_place(validator, headgate, tmp_path):
    """Each value of a file that uses much is replaced in turn; both verdicts must be the same."""
    text = '''version: 1
client-address: {trusted-proxies: [10.0.0.0/8], ipv6-prefix: 64}
fields: [ratelimit, x-ratelimit]
retry-after-jitter: 10%
report-when: below 20%
problem-details: true
cors: {expose-headers: true, preflights: free}
store:
  table: {memory: 64MiB}
  redis: {nodes: ["a:1", "[::1]:2"], cluster: true, user: u, password-file: /p, timeout: 50ms,
          tls: {ca: /ca, cert: /c, key: /k, server-name: n}, prefix: "x:"}
policies:
- {name: a, quota: 1, window: 1s, algorithm: fixed-window, aligned: true, offset: 0, reset: next}
- {name: b, rate: 1/s, key: [path], cost: {request-header: x}, denied: {penalty: 5s},
   overrides: [{ids: [/a], quota: 3}]}
- {name: c, quota: 5, algorithm: concurrency, lease: 5s, status: 503, mode: shadow}
- {name: d, rate: 1/s, match: [{path: /x, header: {x-a: y}, host: h, method: GET}], refund-on: 5xx,
   sharing: exact, on-outage: {local: 25%}}
- {name: e, rate: 1/s, sharing: none, cost: {reserve: {estimate: 5%}, settle: {response-json: a.b}}}
- {name: g, rate: 1/s, sharing: none, cost: {reserve: 5, settle: {response-header: x}}}
- {name: h, rate: 1/s, sharing: none, candidate: {quota: 3, window: 2s, share: 10%}}
- {name: f, rate: 1/month, time-zone: UTC, sharing: none, overrides: [{ids: [10.0.0.1], quota: 3}]}
'''
    good = yaml.load(text, Loader)
    assert validator.is_valid(good)

    def places(value, path=()):
        yield path
        items = value.items() if isinstance(value, dict) else \
            enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            yield from places(inner, path + (key,))

    def changed(path, change):
        copy = json.loads(json.dumps(good))
        if not path:
            return change(copy)
        inner = copy
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = change(inner[path[-1]])
        return copy

    changes = (lambda _: 'zzz', lambda _: -1, lambda _: [], lambda _: {}, lambda _: {'zzz': 1},
               lambda _: [{'zzz': 1}], lambda value: {**value, 'zzz': 1}
               if isinstance(value, dict) else {'zzz': value})
    files = [changed(path, change) for path in places(good) for change in changes]
    for number, file in enumerate(files):
        (tmp_path / f'{number}.yaml').write_text(json.dumps(file))
    verdicts = json.loads(headgate('check', '--json', *(f'{n}.yaml' for n in range(len(files)))).stdout)['files']
    differences = []
    for file, verdict in zip(files, verdicts, strict=True):
        faults = [fault['what'] for fault in verdict['faults']]
        if validator.is_valid(file) != verdict['good'] and not any(map(BEYOND.search, faults)):
            differences.append((file, faults))
    assert len(files) > 300
    assert differences == []
