"""A real nginx with the module, clients that see every byte, and an upstream that says anything."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

MODULE = pathlib.Path(os.environ['HEADGATE_MODULE'])
PRELOAD = os.environ.get('HEADGATE_PRELOAD', '')  # sanitizer runtimes of an instrumented module
NGINX = shutil.which('nginx', path=os.environ['PATH'] + ':/usr/sbin')
PATIENCE = 20  # seconds until a condition that must come true is given up


def until(condition, what):
    """Waits for a true value and returns it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f'gave up waiting until {what}'
        time.sleep(0.005)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


# --- client ------------------------------------------------------------------------------------


class Response:
    def __init__(self, status, headers, body, head):
        self.status, self.headers, self.body, self.head = status, headers, body, head

    def all(self, name):
        return [v for k, v in self.headers if k.lower() == name.lower()]

    def one(self, name):
        values = self.all(name)
        assert len(values) <= 1, f'{name} occurs {len(values)} times'
        return values[0] if values else None

    @property
    def r(self):
        """r of the first member of RateLimit."""
        return int(self.one('RateLimit').split(';r=')[1].split(';')[0].split(',')[0])

    def __repr__(self):
        return f'{self.head!r} {self.body!r}'


class Connection:
    """One connection, to a port or given, used for as many requests as both sides like."""

    def __init__(self, to):
        self.socket = to if isinstance(to, socket.socket) else \
            socket.create_connection(('127.0.0.1', to), timeout=PATIENCE)
        self.buffer = b''

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, raw):
        self.socket.sendall(raw)

    def ask(self, path='/', method='GET', headers=(), body=b'', version='1.1', host='localhost'):
        lines = [f'{method} {path} HTTP/{version}', f'Host: {host}']
        lines += [f'{k}: {v}' for k, v in headers]
        if body:
            lines.append(f'Content-Length: {len(body)}')
        self.send('\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + body)
        return self.receive(method)

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f'closed after {self.buffer[:200]!r}')
        self.buffer += data

    def take(self, n):
        while len(self.buffer) < n:
            self.more()
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def line(self):
        while b'\r\n' not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b'\r\n', 1)
        return line

    def receive(self, method='GET'):
        while b'\r\n\r\n' not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b'\r\n\r\n', 1)
        first, *lines = head.decode('latin-1').split('\r\n')
        status = int(first.split()[1])
        headers = [tuple(part.strip() for part in line.split(':', 1)) for line in lines]
        names = {k.lower(): v for k, v in headers}
        body = b''
        if method == 'HEAD' or status in (101, 204, 304):
            pass
        elif names.get('transfer-encoding') == 'chunked':
            while size := int(self.line(), 16):
                body += self.take(size)
                assert self.take(2) == b'\r\n'
            assert self.line() == b'', 'a trailer section'
        elif 'content-length' in names:
            body = self.take(int(names['content-length']))
        else:
            with contextlib.suppress(ConnectionError):
                while True:
                    self.more()
            body, self.buffer = self.buffer, b''
        return Response(status, headers, body, head.decode('latin-1'))


# --- upstream ----------------------------------------------------------------------------------


class Upstream:
    """Answers each request with answer(method, path, headers, body) -> (status, headers, body).

    Header lines go out exactly as given. Counts what it was asked.
    """

    def __init__(self, answer=lambda *_: (200, [], b'from upstream')):
        self.answer = answer
        self.asked = []
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        # Wakes accept(), which closing alone does not.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile('rb') as lines, contextlib.suppress(OSError, ValueError):
            method, path, _ = lines.readline().decode('latin-1').split(' ', 2)
            headers = []
            while (line := lines.readline()) not in (b'\r\n', b''):
                headers.append(tuple(p.strip() for p in line.decode('latin-1').split(':', 1)))
            length = next((int(v) for k, v in headers if k.lower() == 'content-length'), 0)
            body = lines.read(length)
            self.asked.append((method, path))
            status, out, body = self.answer(method, path, headers, body)
            if status is None:
                return  # hangs up
            head = [f'HTTP/1.1 {status} Reason'] + [f'{k}: {v}' for k, v in out]
            if status == 101:
                client.sendall('\r\n'.join(head).encode('latin-1') + b'\r\n\r\n')
                while data := client.recv(4096):
                    client.sendall(data)  # echoes
                return
            head += [f'Content-Length: {len(body)}', 'Connection: close']
            client.sendall('\r\n'.join(head).encode('latin-1') + b'\r\n\r\n' +
                           (b'' if method == 'HEAD' else body))


# --- nginx -------------------------------------------------------------------------------------


class Nginx:
    """nginx in a directory of its own. `http` and `server` are configuration, `policies` is YAML."""

    def __init__(self, directory, policies, server='', http='', main='', workers=1,
                 gate='headgate_config headgate.yaml; headgate on;', module=MODULE):
        self.directory = pathlib.Path(directory)
        self.port, self.other_port = free_port(), free_port()
        self.workers, self.module = workers, module
        self.process = None
        (self.directory / 'html').mkdir(exist_ok=True)
        (self.directory / 'tmp').mkdir(exist_ok=True)
        self.write(policies, server, http, main, gate)

    def write(self, policies=None, server=None, http=None, main=None, gate=None):
        """Rewrites what is given; what is not stays."""
        given = {'policies': policies, 'server': server, 'http': http, 'main': main, 'gate': gate}
        self.parts = {**getattr(self, 'parts', {}),
                      **{k: v for k, v in given.items() if v is not None}}
        (self.directory / 'headgate.yaml').write_text(self.parts['policies'])
        user = 'user root;' if os.geteuid() == 0 else ''
        temp = ' '.join(f'{kind}_temp_path tmp/{kind};' for kind in
                        ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
        (self.directory / 'nginx.conf').write_text(f'''
load_module {self.module};
{user} daemon off; pid nginx.pid; error_log error.log info;
worker_processes {self.workers}; worker_rlimit_nofile 4096;
{self.parts['main']}
events {{ worker_connections 1024; }}
http {{
  {temp}
  log_format headgate escape=default
    '$request_uri|$status|$headgate_verdict|$headgate_policy|$headgate_remaining';
  access_log access.log headgate;
  server_tokens off;
  {self.parts['gate']}
  {self.parts['http']}
  server {{
    listen 127.0.0.1:{self.port};
    root html;
    {self.parts['server']}
  }}
}}
''')

    def command(self, *arguments):
        return [NGINX, '-p', f'{self.directory}/', '-e', 'error.log', '-c', 'nginx.conf',
                *arguments]

    @property
    def environment(self):
        if not PRELOAD:
            return os.environ
        # nginx frees its pools when it likes; only errors of ours are of interest.
        return {**os.environ, 'LD_PRELOAD': PRELOAD,
                'ASAN_OPTIONS': f'detect_leaks=0:log_path={self.directory}/asan'}

    def start(self):
        self.process = subprocess.Popen(self.command(), env=self.environment,
                                        stderr=subprocess.DEVNULL)
        until(self.ready, 'nginx answers')
        return self

    def ready(self):
        assert self.process.poll() is None, f'nginx did not start:\n{self.log}'
        # It has workers only when it listens everywhere.
        with contextlib.suppress(OSError), Connection(self.port):
            return bool(self.children())

    def test(self):
        """nginx -t: (accepted, what it said)."""
        done = subprocess.run(self.command('-t'), env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE)
        return done.returncode == 0, done.stderr

    def children(self):
        pid = self.process.pid
        return pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()

    def reload(self):
        """Returns when new workers have taken over and the old ones have gone."""
        # A list read while processes come and go may miss some: wait until all workers are in it,
        # or the signal may meet one that nginx has not handled yet and be lost in it.
        until(lambda: len(self.children()) >= self.workers, 'all workers run')
        before = set(self.children())
        self.process.send_signal(signal.SIGHUP)
        until(lambda: len(now := set(self.children())) >= self.workers and not now & before,
              'nginx has reloaded')

    def reload_refused(self):
        before = self.log.count('[emerg]')
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.log.count('[emerg]') > before, 'nginx has refused')

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait(PATIENCE)
        self.process = None
        for report in self.directory.glob('asan.*'):
            raise AssertionError(report.read_text())

    @property
    def log(self):
        file = self.directory / 'error.log'
        return file.read_text(errors='replace') if file.exists() else ''

    def access(self, lines):
        """The access log's fields: uri, status, verdict, policy, remaining; once it has `lines`."""
        file = self.directory / 'access.log'
        until(lambda: file.read_text().count('\n') >= lines, f'the access log has {lines} lines')
        return [line.split('|') for line in file.read_text().splitlines()]

    def ask(self, path='/', *args, **kwargs):
        with Connection(self.port) as connection:
            return connection.ask(path, *args, **kwargs)

    def metrics(self, path='/metrics'):
        """{'name{labels}': value}"""
        lines = self.ask(path).body.decode().splitlines()
        return {k: float(v) for k, v in (line.rsplit(' ', 1) for line in lines
                                         if line and not line.startswith('#'))}
