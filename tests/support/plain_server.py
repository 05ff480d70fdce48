#!/usr/bin/python3
"""An HTTP/1.1 server on a free port of 127.0.0.1, which it prints.

    plain_server.py             answers everything; /concurrency/... a tenth of a second later
    plain_server.py RATE BURST  a token bucket for each X-Run, which sends 429 and Retry-After, and no other fields
"""
import asyncio
import math
import sys
import time

BODY = b'ok\n'
RATE, BURST = map(float, sys.argv[1:]) if len(sys.argv) > 1 else (0.0, 0.0)
buckets = {}


def wait_of(key):
    """Takes a token and returns 0; or returns the time until there is one [s]."""
    now = time.monotonic()
    level, since = buckets.get(key, (BURST, now))
    level = min(BURST, level + (now - since) * RATE)
    wait = 0 if level >= 1 else math.ceil((1 - level) / RATE)
    buckets[key] = (level if wait else level - 1, now)
    return wait


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b'\r\n\r\n')
            lines = head.decode('latin-1').split('\r\n')
            run = next((line.split(':', 1)[1].strip() for line in lines
                        if line.lower().startswith('x-run:')), '')
            if '/concurrency/' in lines[0]:
                await asyncio.sleep(0.1)
            wait = wait_of(run) if RATE else 0
            status = f'429 Too Many Requests\r\nRetry-After: {wait}' if wait else '200 OK'
            writer.write(f'HTTP/1.1 {status}\r\nContent-Length: {len(BODY)}\r\n\r\n'.encode() + BODY)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
