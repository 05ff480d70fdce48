"""Packages of npm, as a lock file names them, installed into a folder of the build directory."""
import fcntl
import filecmp
import os
import pathlib
import shutil
import subprocess

# Seconds for npm ci: a registry in reach needs about ten.
PATIENCE = 120


class Unavailable(Exception):
    """npm or its registry is not in reach; the text names the reason."""


def install(source, folder):
    """Copies the files of `source` into `folder` and installs the packages of its lock file there.

    Several tests may do this at once: one installs, the others wait. A file that is up to date is not
    written again, because programs of the others may be reading it.
    """
    for program in ('node', 'npm'):
        if shutil.which(program) is None:
            raise Unavailable(f'there is no {program}; ./dev deps installs it')
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix('.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_alone(pathlib.Path(source), folder)
    return folder


def install_alone(source, folder):
    for file in source.iterdir():
        copy = folder / file.name
        if file.is_file() and not (copy.exists() and filecmp.cmp(file, copy, shallow=False)):
            shutil.copy2(file, folder)
    lock, installed = folder / 'package-lock.json', folder / 'node_modules/.package-lock.json'
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    try:
        done = subprocess.run(
            ['npm', 'ci', '--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries=1'],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
            env=os.environ | {'npm_config_update_notifier': 'false'})
    except subprocess.TimeoutExpired:
        raise Unavailable('npm ci did not end: the registry is out of reach') from None
    if done.returncode != 0:
        raise Unavailable(f'npm ci: {"".join(done.stderr.strip().splitlines()[-1:])}')
    installed.touch()
