"""Access logs of servers that do not exist, with all that real logs have.

    cd tests && python3 -m support.access_log       writes cli/logs/small.log
"""
import datetime
import pathlib
import random

BEGIN = datetime.datetime(2026, 3, 29, 0, 30, tzinfo=datetime.timezone.utc)  # clocks change at 1:00
CLIENTS = ['192.0.2.7', '192.0.2.8', '198.51.100.4', '2001:db8::17', '2001:db8::18', '203.0.113.9']
SHARES = [30, 5, 3, 2, 2, 1]
AGENTS = ['curl/7.88', 'Mozilla/5.0 (\\"quoted\\"; \\\\)', '-']
BROKEN = ['', 'not a line of a log', '192.0.2.7 - - [29/Mar/2026:00:31:00 +0000] "GET / HTTP/1.1',
          '192.0.2.7 - - [30/Feb/2026:00:31:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"',
          'www.example - - [29/Mar/2026:00:31:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"',
          '192.0.2.7 - - [29/Mar/2026:00:31:00 +0000] "\\x16\\x03\\x01" 400 0 "-" "-"']


def stamp(at):
    """Berlin's time, which goes from 02:00 +0100 to 03:00 +0200 in the middle."""
    ahead = 1 if at < BEGIN.replace(hour=1, minute=0) else 2
    zone = datetime.timezone(datetime.timedelta(hours=ahead))
    return at.astimezone(zone).strftime('%d/%b/%Y:%H:%M:%S %z')


def lines(count, clients=CLIENTS, shares=SHARES, seconds=3600, referer='-', agents=AGENTS, seed=1):
    """`count` requests of these clients within `seconds`, and the broken lines, as text."""
    dice = random.Random(seed)
    requests = []
    for _ in range(count):
        client = dice.choices(clients, shares)[0]
        at = BEGIN + datetime.timedelta(seconds=int(dice.betavariate(2, 2) * seconds))
        path = dice.choice(['/', '/a%20b?q=1', '/v1/things', '//v1/./things?x=\\"y\\"', '/login'])
        method = 'POST' if path == '/login' else dice.choice(['GET', 'GET', 'HEAD'])
        status = dice.choices([200, 304, 404, 500], [80, 10, 7, 3])[0]
        size = '-' if status == 304 else dice.randrange(100, 20000)
        agent = dice.choice(agents)
        requests.append((at, f'{client} - - [{stamp(at)}] "{method} {path} HTTP/1.1" {status} {size} '
                             f'"{referer}" "{agent}"'))
    # Servers write a line when a response has ended: up to two minutes later.
    requests.sort(key=lambda line: line[0] + datetime.timedelta(seconds=dice.randrange(120)))
    written = [line for _, line in requests]
    for broken in BROKEN:
        written.insert(dice.randrange(len(written)), broken)
    return ''.join(line + '\n' for line in written)


def large():
    """Four days of 1000 clients, from one with 1300 requests to many with one; lines as long as those
    of browsers."""
    clients = [f'198.51.{100 + i // 250}.{i % 250}' for i in range(1000)]
    shares = [1000 / (i + 1) for i in range(1000)]
    browsers = [f'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) '
                f'Chrome/{version}.0.1700.77 Safari/537.36' for version in range(30, 60)]
    return lines(10_000, clients, shares, seconds=4 * 86400,
                 referer='http://www.example/things/', agents=browsers, seed=2)


if __name__ == '__main__':
    (pathlib.Path(__file__).resolve().parents[1] / 'cli/logs/small.log').write_text(lines(600))
