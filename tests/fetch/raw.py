"""A server that says any bytes, and a virtual origin with a quota."""
import contextlib
import socket
import threading


class RawServer:
    """Answers each request with the bytes that answer(path, number, headers) gives or yields.

    `number` counts the requests to that path, from 0. Keeps connections open, unless the answer says
    Connection: close or is None, which hangs up.
    """

    def __init__(self, answer):
        self.answer = answer
        self.lock = threading.Lock()
        self.asked = []  # paths in the order of arrival
        self.headers = []
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f'http://127.0.0.1:{self.port}'
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
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
            while line := lines.readline():
                _, path, _ = line.decode('latin-1').split(' ', 2)
                headers = {}
                while (line := lines.readline()) not in (b'\r\n', b''):
                    name, _, value = line.decode('latin-1').partition(':')
                    headers[name.lower()] = value.strip()
                with self.lock:
                    number = self.asked.count(path)
                    self.asked.append(path)
                    self.headers.append(headers)
                said = self.answer(path, number, headers)
                if said is None:
                    return
                close = False
                for part in [said] if isinstance(said, bytes) else said:
                    client.sendall(part)
                    close = close or b'connection: close' in part.lower()
                if close:
                    return


def response(status=200, fields=(), body=b'', close=False):
    lines = [f'HTTP/1.1 {status} Reason', *(f'{name}: {value}' for name, value in fields)]
    lines.append(f'Content-Length: {len(body)}')
    if close:
        lines.append('Connection: close')
    return '\r\n'.join(lines).encode('latin-1') + b'\r\n\r\n' + body
