"""The machine that measures: its cores, network, who else uses them, and processor time [s]."""
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
    """Two processors this process may use, on different cores if there are such."""
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
    """Processor time that a process has used, all its threads, without its children."""
    after_name = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(after_name[11]) + int(after_name[12])) * TICK


def running_seconds(pid):
    """The same of its first thread or only one, to the nanosecond."""
    return int(pathlib.Path(f'/proc/{pid}/schedstat').read_text().split()[0]) * 1e-9


def processor_seconds(processors):
    """Time that these processors were not idle, since some moment, and time that a hypervisor took
    away from them. Linux times idleness, but only samples what else there was, by ticks."""
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
    """What a reader of figures must know of the machine. Watches it for two seconds."""
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
    """Moves this process, and those that it starts from now on, to a loopback of their own where
    TCP does not pace what it sends. Says how TCP is controlled there, or here if that failed."""
    where, trouble = "in this machine's network", ''
    try:
        _new_network()
        where = 'in a network of its own'
        # Of those that don't pace, the one that every kernel has and lets every namespace choose.
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
    """Has SIGTERM and SIGHUP end this process as sys.exit() does, with everything cleaned up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
