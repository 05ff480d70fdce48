#!/usr/bin/env python3
"""A small API for trying out a gateway.

    api.py [PORT]       listens on 127.0.0.1, any free port by default, and prints its URL

GET /               says hello
GET /orders         the orders so far
POST /orders        adds one, any body
"""
import http.server
import itertools
import json
import sys
import threading


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'  # keep-alive
    server_version = 'sample-api'
    sys_version = ''
    orders = []
    numbers = itertools.count(1)
    lock = threading.Lock()

    def do_GET(self):
        if self.path == '/':
            self.answer(200, {'hello': self.headers.get('X-Forwarded-For', 'you')})
        elif self.path == '/orders':
            with self.lock:
                self.answer(200, {'orders': self.orders[-100:]})
        else:
            self.answer(404, {'error': 'no such thing'})

    do_HEAD = do_GET

    def do_POST(self):
        size = int(self.headers.get('Content-Length') or 0)
        body = self.rfile.read(size).decode('utf-8', 'replace')
        if self.path != '/orders':
            return self.answer(404, {'error': 'no such thing'})
        with self.lock:
            order = {'number': next(self.numbers), 'text': body}
            self.orders.append(order)
        self.answer(201, order)

    def answer(self, status, value):
        body = json.dumps(value).encode() + b'\n'
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def log_message(self, *args):
        pass


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = http.server.ThreadingHTTPServer(('127.0.0.1', port), Api)
    print(f'http://127.0.0.1:{server.server_port}', flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


main()
