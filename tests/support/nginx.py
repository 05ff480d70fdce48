"""A real nginx with the module."""
import os
import pathlib
import signal
import subprocess

from support.environment import MODULE, PATIENCE
from support.http_client import Connection, answers, read_metrics
from support.processes import children, find_program, free_port, stop, until

PRELOAD = os.environ.get('HEADGATE_PRELOAD', '')  # sanitizer runtimes of an instrumented module
NGINX = find_program('nginx')


class Nginx:
    """nginx in a directory of its own. `policies` is YAML; `main`, `http`, `server` and `gate` are parts
    of nginx's configuration."""

    def __init__(self, directory, policies, server='', http='', main='', workers=1,
                 gate='headgate_config headgate.yaml; headgate on;', module=MODULE, program=NGINX):
        self.directory = pathlib.Path(directory)
        self.port, self.other_port = free_port(), free_port()
        self.workers, self.module, self.program = workers, module, program
        self.process = None
        (self.directory / 'html').mkdir(exist_ok=True)
        (self.directory / 'tmp').mkdir(exist_ok=True)
        self.write(policies, server, http, main, gate)

    def write(self, policies=None, server=None, http=None, main=None, gate=None):
        """Writes the files again. A part that is not given stays as it was."""
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
events {{ worker_connections 2048; }}
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
        return [self.program, '-p', f'{self.directory}/', '-e', 'error.log', '-c', 'nginx.conf',
                *arguments]

    @property
    def environment(self):
        if not PRELOAD:
            return os.environ
        # No check for leaks: nginx does not free all of its pools before it ends.
        return {**os.environ, 'LD_PRELOAD': PRELOAD,
                'ASAN_OPTIONS': f'detect_leaks=0:log_path={self.directory}/asan'}

    def start(self, listener=None):
        """`listener`: a socket that listens on self.port, for nginx to inherit."""
        environment, inherited = self.environment, []
        if listener is not None:
            inherited = [listener.fileno()]
            environment = {**environment, 'NGINX': f'{listener.fileno()};'}
        self.process = subprocess.Popen(self.command(), env=environment, pass_fds=inherited,
                                        stderr=subprocess.DEVNULL)
        until(self.ready, 'nginx answers')
        return self

    def ready(self):
        assert self.process.poll() is None, f'nginx did not start:\n{self.log}'
        # It starts workers once it listens on all ports.
        return answers(self.port) and bool(self.children())

    def test(self):
        """nginx -t: (accepted, what it writes)."""
        done = subprocess.run(self.command('-t'), env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE)
        return done.returncode == 0, done.stderr

    def children(self):
        return children(self.process.pid)

    def reload(self):
        """Returns once there are new workers and none of the old ones."""
        # A list that is read while processes start and end may miss some. All workers have to be in
        # it, otherwise nginx may still be at work on the signal before and lose this one.
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
        process, self.process = self.process, None
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            stop(process)
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

    def request(self, path='/', *args, **kwargs):
        with Connection(self.port) as connection:
            return connection.request(path, *args, **kwargs)

    def metrics(self, path='/metrics'):
        """{'name{labels}': value}"""
        return read_metrics(self.port, path)
