#!/usr/bin/env python3
"""A sample API that answers as OpenAI's chat completions do, whole or as a stream of events.

    api.py PORT

A word of the request counts as a token, and so does each word of the answer.
"""
import http.server
import json
import sys

ANSWER = 'Rate limits keep a service alive when its clients are many'.split()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        asked = sum(len(message['content'].split()) for message in request['messages'])
        usage = {'prompt_tokens': asked, 'completion_tokens': len(ANSWER),
                 'total_tokens': asked + len(ANSWER)}
        if request.get('stream'):
            self.stream(usage)
        else:
            self.whole(usage)

    def whole(self, usage):
        message = {'role': 'assistant', 'content': ' '.join(ANSWER)}
        body = json.dumps({'object': 'chat.completion', 'choices': [{'index': 0, 'message': message}],
                           'usage': usage}).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, usage):
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        for word in ANSWER:
            self.event({'choices': [{'index': 0, 'delta': {'content': word + ' '}}], 'usage': None})
        self.event({'choices': [], 'usage': usage})
        self.chunk(b'data: [DONE]\n\n')
        self.chunk(b'')

    def event(self, chunk):
        self.chunk(b'data: ' + json.dumps({'object': 'chat.completion.chunk', **chunk}).encode() + b'\n\n')

    def chunk(self, data):
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_):
        pass


if __name__ == '__main__':
    server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
    print(f'listening on 127.0.0.1:{server.server_address[1]}', flush=True)
    server.serve_forever()
