#!/usr/bin/python3
"""Writes small.log beside this file: an hour of a made-up server, with all that real logs have."""
import datetime
import pathlib
import random

BEGIN = datetime.datetime(2026, 3, 29, 0, 30, tzinfo=datetime.timezone.utc)  # clocks change at 1:00
CLIENTS = ['192.0.2.7', '192.0.2.8', '198.51.100.4', '2001:db8::17', '2001:db8::18', '203.0.113.9']
BROKEN = ['', 'not a line of a log', '192.0.2.7 - - [29/Mar/2026:00:31:00 +0000] "GET / HTTP/1.1',
          '192.0.2.7 - - [30/Feb/2026:00:31:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"',
          'www.example - - [29/Mar/2026:00:31:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"',
          '192.0.2.7 - - [29/Mar/2026:00:31:00 +0000] "\\x16\\x03\\x01" 400 0 "-" "-"']


def stamp(at):
    """Berlin's time, which goes from 02:00 +0100 to 03:00 +0200 in the middle."""
    ahead = 1 if at < BEGIN.replace(hour=1, minute=0) else 2
    zone = datetime.timezone(datetime.timedelta(hours=ahead))
    return at.astimezone(zone).strftime('%d/%b/%Y:%H:%M:%S %z')


def main():
    random.seed(1)
    lines = []
    for _ in range(600):
        client = random.choices(CLIENTS, [30, 5, 3, 2, 2, 1])[0]
        at = BEGIN + datetime.timedelta(seconds=int(random.betavariate(2, 2) * 3600))
        path = random.choice(['/', '/a%20b?q=1', '/v1/things', '//v1/./things?x=\\"y\\"', '/login'])
        method = 'POST' if path == '/login' else random.choice(['GET', 'GET', 'HEAD'])
        status = random.choices([200, 304, 404, 500], [80, 10, 7, 3])[0]
        size = '-' if status == 304 else random.randrange(100, 20000)
        agent = random.choice(['curl/7.88', 'Mozilla/5.0 (\\"quoted\\"; \\\\)', '-'])
        lines.append((at, f'{client} - - [{stamp(at)}] "{method} {path} HTTP/1.1" {status} {size} '
                          f'"-" "{agent}"'))
    lines.sort(key=lambda line: line[0] + datetime.timedelta(seconds=random.randrange(120)))
    lines = [line for _, line in lines]
    for broken in BROKEN:
        lines.insert(random.randrange(len(lines)), broken)
    path = pathlib.Path(__file__).with_name('small.log')
    path.write_text(''.join(line + '\n' for line in lines))


if __name__ == '__main__':
    main()
