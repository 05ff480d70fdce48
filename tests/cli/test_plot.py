"""headgate simulate --plot: which plots it draws. docs/plots compares their content."""
import json
import resource
import xml.etree.ElementTree as xml

import pytest

SECOND = 10**9
SVG = '{http://www.w3.org/2000/svg}'


def line(t, policy='burst', **more):
    return json.dumps({'t': t, 'policy': policy, **more})


@pytest.fixture
def plot(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text("""version: 1
policies:
  - {name: burst, quota: 2, window: 10s}
  - {name: shadow, quota: 1, window: 1d, mode: shadow}
""")

    def run(*lines, log='t.jsonl', **options):
        (tmp_path / 't.jsonl').write_text(''.join(each + '\n' for each in lines))
        return headgate('simulate', '--config', 'p.yaml', '--format', 'trace', '--plot', 'p.svg', log, **options)
    return run


def texts(file):
    return [''.join(text.itertext()) for text in xml.parse(file).iter(f'{SVG}text')]


def test_a_plot_for_each_policy_and_key(plot, tmp_path):
    result = plot(line(0, key='<a>'), line(SECOND, key='b & c', cost=2), line(SECOND, 'shadow'),
                  line(2 * SECOND, key='<a>', cost=2), line(3 * SECOND, op='refund', key='<a>'))
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith('4 requests in 3 s')  # the summary is not of the plot
    found = texts(tmp_path / 'p.svg')
    titles = ['burst: q=2, w=10 s; key <a>', 'burst: q=2, w=10 s; key b & c', 'shadow: q=1, w=24 h']
    assert [text for text in found if 'q=' in text] == titles
    assert found[:4] == ['units left (r)', 'admitted', 'denied', 'given back']
    assert 'time [s] since 1970-01-01 00:00:00 UTC' in found


def test_one_line_is_enough_and_what_cannot_be_read_is_left_out(plot, tmp_path):
    result = plot('?', line(7 * SECOND, cost=10**18))
    assert result.returncode == 0
    assert 'burst: q=2, w=10 s' in texts(tmp_path / 'p.svg')


@pytest.mark.parametrize('lines, log, why', [
    ([line(5), line(4)], 't.jsonl', 'cannot be plotted: its lines go back in time'),
    (['?'], 't.jsonl', 'no line could be read'),
    ([line(n, key=str(n)) for n in range(17)], 't.jsonl',
     'cannot be plotted: it has more than 16 policies and keys, too many to be seen'),
    ([line(1)], '-', '--plot reads the trace again: expected a file, not -'),
])
def test_what_cannot_be_drawn_is_reported(plot, tmp_path, lines, log, why):
    result = plot(*lines, log=log)
    assert result.returncode == 1
    assert why in result.stderr
    assert not (tmp_path / 'p.svg').exists()


def test_a_file_that_cannot_be_written(plot, tmp_path):
    (tmp_path / 'p.svg').mkdir()
    result = plot(line(1))
    assert result.returncode == 1
    assert 'p.svg: Is a directory' in result.stderr


def test_only_traces(headgate, tmp_path):
    (tmp_path / 'p.yaml').write_text('version: 1\npolicies: []\n')
    (tmp_path / 'access.log').write_text(
        '192.0.2.1 - - [01/Jan/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n')
    result = headgate('simulate', '--config', 'p.yaml', '--plot', 'p.svg', 'access.log')
    assert result.returncode == 2
    assert '--plot: expected a trace, not access logs' in result.stderr


def test_a_plot_that_is_not_whole_is_removed(plot, tmp_path):
    result = plot(line(0, key='a'), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
    assert (result.returncode, result.stderr) == (1, 'headgate: p.svg: File too large\n')
    assert not (tmp_path / 'p.svg').exists()
