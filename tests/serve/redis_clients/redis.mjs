// The npm client `redis` against the RESP door: node redis.mjs PORT TOKEN VERSION
import assert from 'node:assert/strict';
import { createClient } from 'redis';

const [port, password, version] = process.argv.slice(2);
const client = createClient({ socket: { host: '127.0.0.1', port: Number(port) }, password, RESP: Number(version) });
client.on('error', error => { throw error; });
await client.connect();

assert.equal(await client.ping(), 'PONG');
assert.deepEqual(await client.sendCommand(['CL.THROTTLE', 'user123', '15', '30', '60']), [0, 16, 15, -1, 2]);
assert.deepEqual(await client.sendCommand(['THROTTLE', 'c', '2', '1', '100']), [1, 2, 1, 100, 0]);
assert.deepEqual((await client.sendCommand(['HG.DECIDE', 'burst', 'redis'])).slice(0, 3), [1, 10, 9]);
await assert.rejects(client.sendCommand(['GET', 'a']), /unknown command/);

// Calls of one turn of the event loop go out as one pipeline.
const calls = Array.from({ length: 500 }, () => client.sendCommand(['CL.THROTTLE', 'many', '499', '1', '1000']));
const remaining = (await Promise.all(calls)).map(reply => reply[2]);
assert.deepEqual(remaining, Array.from({ length: 500 }, (_, i) => 499 - i));

await client.close();
console.log('ok');
