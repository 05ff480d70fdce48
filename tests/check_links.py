#!/usr/bin/env python3
"""Checks that the target of every link between pages exists, and every page that the code names.

    check_links.py SOURCE_DIR

Reads all files of git: links in Markdown, names of pages in docs/ elsewhere. An anchor has to be a heading of
its page, as GitHub spells it.
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r'\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)', re.M)
MENTION = re.compile(r'\b(docs/[\w/-]+\.md(?:#[\w-]+)?)')
ELSEWHERE = re.compile(r'[a-z][a-z0-9+.-]*:', re.I)  # https: and the like
FENCED = re.compile(r'^(```|~~~).*?^\1[^\n]*$', re.M | re.S)
CODE = re.compile(r'`[^`\n]*`')
READ = ('.h', '.cc', '.py', '.sh', '.cmake', '.txt', '.yaml', '.conf', '')


def blank(text, pattern):
    """The text without the matches of the pattern; all other lines keep their numbers."""
    return pattern.sub(lambda found: '\n' * found[0].count('\n'), text)


def headings(page):
    slugs = set()
    for line in re.findall(r'^#+\s+(.*)$', blank(page.read_text(), FENCED), re.M):
        words = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', line).strip().lower()
        slug = re.sub(r'[^\w\- ]', '', words).replace(' ', '-')
        again = 1
        while slug in slugs:
            slug = f'{slug.removesuffix(f"-{again - 1}")}-{again}'
            again += 1
        slugs.add(slug)
    return slugs


def fault(base, target):
    """The fault of a link from a page in folder `base`; None if it is right."""
    path, _, anchor = target.partition('#')
    if ELSEWHERE.match(target):
        return None
    if path.startswith('/'):
        return 'is not relative'
    page = base / path if path else None
    if page is not None and not page.exists():
        return 'is not there'
    if anchor and page is not None and page.suffix == '.md' and anchor not in headings(page):
        return 'has no such heading'
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    names = subprocess.run(['git', '-C', root, 'ls-files', '-z'], check=True, capture_output=True,
                           text=True).stdout.split('\0')
    links = 0
    faults = []
    for name in filter(None, names):
        file = root / name
        if file.suffix not in ('.md', *READ) or 'corpus' in file.parts or not file.is_file():
            continue
        text = file.read_text()
        if file.suffix == '.md':
            text = blank(blank(text, FENCED), CODE)
            found = [(m.start(), m[1] or m[2]) for m in LINK.finditer(text)]
            # An anchor alone means this page.
            found = [(at, file.name + to if to.startswith('#') else to) for at, to in found]
            base = file.parent
        else:
            found = [(m.start(), m[1]) for m in MENTION.finditer(text)]
            base = root
        links += len(found)
        for at, target in found:
            if why := fault(base, target):
                line = text.count('\n', 0, at) + 1
                faults.append(f'{name}:{line}: {target} {why}')
    for each in faults:
        print(each)
    print(f'{links} links, {len(faults)} faults')
    sys.exit(1 if faults or not links else 0)


main()
