#!/usr/bin/env python3
"""Holds every #include of a room against what its headgate_room() says it USES.

    check_layers.py SOURCE_DIR room:used,used ...

A room may include itself and the rooms that it names, and these must stand on lower floors.
"""
import pathlib
import re
import sys

FLOOR = {'base': 0, 'limit': 1, 'field': 1, 'net': 1, 'policy': 2, 'store': 2, 'gate': 3, 'redis': 3,
         'c': 4, 'client': 4, 'sim': 4, 'nginx': 5, 'server': 5, 'cli': 6}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]headgate/([a-z]+)/', re.M)


def main():
    root = pathlib.Path(sys.argv[1]) / 'headgate'
    uses = dict((room, set(filter(None, used.split(',')))) for room, _, used in
                (arg.partition(':') for arg in sys.argv[2:]))
    faults = []
    for room, used in sorted(uses.items()):
        for other in sorted(used):
            if FLOOR[other] >= FLOOR[room]:
                faults.append(f'{room} (floor {FLOOR[room]}) may not use {other} (floor {FLOOR[other]})')
    for file in sorted(root.rglob('*')):
        if file.suffix not in ('.h', '.cc'):
            continue
        room = 'c' if file.parent == root else file.relative_to(root).parts[0]
        if room not in uses:
            faults.append(f'{file}: its room is not declared with headgate_room()')
            continue
        text = file.read_text()
        for match in INCLUDE.finditer(text):
            other = match[1]
            if other != room and other not in uses[room]:
                line = text.count('\n', 0, match.start()) + 1
                faults.append(f'{file}:{line}: {room} includes {other}, which it does not name in USES')
    for fault in faults:
        print(fault)
    print(f'{len(uses)} rooms, {len(faults)} faults')
    sys.exit(1 if faults else 0)


main()
