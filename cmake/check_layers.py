#!/usr/bin/env python3
"""Compares every #include of the rooms with what the rooms declare, and both with the map.

    check_layers.py SOURCE_DIR room:floor:used,used:party,party:apart,apart ...

The arguments are what headgate_declare_room() was given (cmake/headgate_room.cmake). A room may
include itself, the rooms that it USES, which must stand on lower floors, its THIRD_PARTIES, and
what the compiler and the system bring. The table of rooms in docs/architecture.md must say the same.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)

# The headers of each third party, by how their names begin.
THIRD_PARTIES = {
    'tl::expected': ('tl/',),
    'libyaml': ('yaml.h',),
    'libpsl': ('libpsl.h',),
    'abseil': ('absl/',),
    'nlohmann-json': ('nlohmann/',),
    'zlib': ('zlib.h',),
    'zstd': ('zstd.h',),
    'Boost': ('boost/',),
    'spdlog': ('spdlog/',),
    'libsystemd': ('systemd/',),
    'OpenSSL': ('openssl/',),
    'protobuf': ('google/protobuf/', 'ratelimit.pb.h', 'health.pb.h'),
    'nghttp2': ('nghttp2/',),
    'CLI11': ('CLI/',),
    'libcurl': ('curl/',),
    'nginx': ('ngx_',),
}
# What tests of any room may use besides.
TEST_PARTIES = ('gtest/', 'gmock/', 'rapidcheck', 'nlohmann/')

# A header of C++ has no dot; those of C and of Linux that are in use are named.
SYSTEM = re.compile(r'[a-z_]+|(sys|net|netinet|arpa|linux)/[a-z_]+\.h|'
                    r'(dlfcn|fcntl|glob|grp|malloc|netdb|poll|pthread|pwd|sched|signal|stddef|stdint|'
                    r'termios|time|unistd|x86intrin)\.h')


class Room:
    def __init__(self, declared):
        self.name, floor, uses, parties, apart = declared.replace('tl::', 'tl..').split(':')
        self.floor = int(floor)
        self.uses = [word for word in uses.split(',') if word]
        self.parties = [word.replace('..', '::') for word in parties.split(',') if word]
        self.apart = [word for word in apart.split(',') if word]

    def row(self):
        """The cells of its row in the map, without the description."""
        parties = []
        for party in self.parties:
            folder, _, name = party.rpartition('/')
            parties.append(f'{name} (`{folder}/`)' if folder else name)
        return (str(self.floor), f'`{self.name}`', ' '.join(self.uses), ', '.join(parties))


def party_of(header):
    for party, begins in THIRD_PARTIES.items():
        if header.startswith(begins):
            return party
    return None


def fault_of(room, folder, is_test, quoted, header):
    """Why a file in `folder` of the room may not include the header; None if it may."""
    if header.startswith('headgate/'):
        _, other, *rest = header.split('/')
        if not rest:
            other = 'c'  # headgate/headgate.h
        if other == room.name:
            first = rest[0] if rest else ''
            if folder in room.apart and first in room.apart and first != folder:
                return f'{room.name}/{folder} and {room.name}/{first} must not include each other'
            return None
        return None if other in room.uses else f'{room.name} does not name {other} in USES'
    if is_test and header.startswith(TEST_PARTIES):
        return None
    party = party_of(header)
    if party:
        if party in room.parties or f'{folder}/{party}' in room.parties:
            return None
        return f'{room.name} does not name {party} in THIRD_PARTIES, or only for another folder'
    if quoted:
        return 'expected a path that begins with headgate/'
    return None if SYSTEM.fullmatch(header) else 'is no known header of the system or a third party'


def faults_of_includes(root, rooms):
    for file in sorted(root.rglob('*')):
        if file.suffix not in ('.h', '.cc'):
            continue
        parts = ('c', file.name) if file.parent == root else file.relative_to(root).parts
        room = rooms.get(parts[0])
        if room is None:
            yield f'{file}: its room is not declared with headgate_room()'
            continue
        folder = parts[1] if len(parts) > 2 else ''
        is_test = folder == 'testing' or file.name.endswith('_test.cc')
        text = file.read_text()
        for match in INCLUDE.finditer(text):
            why = fault_of(room, folder, is_test, match[1] == '"', match[2])
            if why:
                line = text.count('\n', 0, match.start()) + 1
                yield f'{file}:{line}: {match[2]}: {why}'


def faults_of_floors(rooms):
    for room in rooms.values():
        for other in room.uses:
            if rooms[other].floor >= room.floor:
                yield (f'{room.name} (floor {room.floor}) may not use {other} '
                       f'(floor {rooms[other].floor})')


def faults_of_map(page, rooms):
    """The rows `| floor | room | holds | uses | third parties |` of the page are the rooms."""
    mapped = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if len(cells) == 5 and cells[0].isdigit():
            mapped[cells[1].strip('`')] = (cells[0], cells[1], cells[3], cells[4])
    for name, room in sorted(rooms.items()):
        if mapped.get(name) != room.row():
            yield f'{page}: room {name}: expected {room.row()}, found {mapped.get(name)}'
    for name in sorted(mapped.keys() - rooms.keys()):
        yield f'{page}: room {name} is not declared in the build'


def main():
    source = pathlib.Path(sys.argv[1])
    rooms = {room.name: room for room in map(Room, sys.argv[2:])}
    faults = [*faults_of_floors(rooms), *faults_of_includes(source / 'headgate', rooms),
              *faults_of_map(source / 'docs/architecture.md', rooms)]
    for fault in faults:
        print(fault)
    print(f'{len(rooms)} rooms, {len(faults)} faults')
    sys.exit(1 if faults else 0)


main()
