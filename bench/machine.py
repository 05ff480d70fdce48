"""The machine that measures: its cores and network, how busy they are, and processor time [s]."""
import ctypes
import fcntl
import os
import pathlib
import platform
import signal
import socket
import struct
import sys
import time

TICK = 1 / os.sysconf('SC_CLK_TCK')


def two_cores():
    """Returns two processors that this process may use, on different cores if possible."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise RuntimeError('two processors are needed, one for the servers and one for the load; '
                           f'this process may use {len(usable)}')
    first = usable[0]
    return first, next((c for c in usable[1:] if _core(c) != _core(first)), usable[1])


def _core(processor):
    topology = pathlib.Path(f'/sys/devices/system/cpu/cpu{processor}/topology')
    try:
        return [(topology / name).read_text() for name in ('physical_package_id', 'core_id')]
    except OSError:
        return processor


def process_seconds(pid):
    """Processor time of a process: of all its threads, without its children."""
    after_name = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(after_name[11]) + int(after_name[12])) * TICK


def running_seconds(pid):
    """Processor time of its first thread, in nanosecond resolution."""
    return int(pathlib.Path(f'/proc/{pid}/schedstat').read_text().split()[0]) * 1e-9


def processor_seconds(processors):
    """Time in which these processors were not idle, since some moment, and time that a hypervisor took
    from them. Derived from idle time, which Linux measures; it only samples the rest, per tick."""
    now = time.monotonic()
    idle = stolen = 0
    for line in pathlib.Path('/proc/stat').read_text().splitlines():
        name, *ticks = line.split()
        if name in {f'cpu{p}' for p in processors}:
            _, _, _, sleeping, waiting, _, _, steal = map(int, ticks[:8])
            idle += sleeping + waiting
            stolen += steal
    return now * len(processors) - (idle + stolen) * TICK, stolen * TICK


def describe():
    """Describes the machine for readers of the figures. Measures its load for two seconds."""
    model = next((line.split(':')[1].strip()
                  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines()
                  if line.startswith('model name')), platform.machine())
    usable = sorted(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    before = processor_seconds(usable)
    time.sleep(2)
    busy = max(b - a for a, b in zip(before, processor_seconds(usable))) / 2
    verdict = ('the machine was quiet' if busy <= 0.1 else
               'THE MACHINE WAS BUSY: trust no time below, and ratios only a little')
    return (f'{len(usable)} processors, {model}, Linux {platform.release()}\n'
            f'load average {load:.2f} at the start; others used {busy:.0%} of a core: {verdict}')


CLONE_NEWUSER, CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x10000000, 0x40000000, 0x8914, 1  # Linux
CONGESTION_CONTROL = pathlib.Path('/proc/sys/net/ipv4/tcp_congestion_control')


def settle_network():
    """Moves this process, and those that it starts from now on, to a network namespace of their own,
    in which TCP does not pace. Returns which congestion control is used, there or, if that failed,
    here."""
    where, trouble = "in this machine's network", ''
    try:
        _new_network()
        where = 'in a network of its own'
        # It does not pace, every kernel has it, and every namespace may choose it.
        CONGESTION_CONTROL.write_text('reno')
    except OSError as error:
        trouble = f' ({error})'
    return f'TCP congestion control {CONGESTION_CONTROL.read_text().strip()}, {where}{trouble}'


def _new_network():
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), 'no network namespace can be had')
        for name, text in (('setgroups', 'deny'), ('uid_map', f'{uid} {uid} 1'),
                           ('gid_map', f'{gid} {gid} 1')):
            pathlib.Path('/proc/self', name).write_text(text)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack('16sH14x', b'lo', IFF_UP))


def end_orderly():
    """Makes SIGTERM and SIGHUP end this process as sys.exit() does, so that it cleans up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
