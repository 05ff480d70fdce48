// The npm client `ioredis` against the RESP door: node ioredis.mjs PORT TOKEN
import assert from 'node:assert/strict';
import Redis from 'ioredis';

const [port, password] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port), password, connectionName: 'test' });
client.on('error', error => { throw error; });

assert.equal(await client.ping(), 'PONG');
assert.deepEqual(await client.call('CL.THROTTLE', 'user123', 15, 30, 60), [0, 16, 15, -1, 2]);
assert.deepEqual(await client.call('THROTTLE', 'c', 2, 1, 100), [1, 2, 1, 100, 0]);
assert.deepEqual((await client.call('HG.DECIDE', 'burst', 'ioredis')).slice(0, 3), [1, 10, 9]);
await assert.rejects(client.call('CL.THROTTLE', 'k', 'x', 1, 1), /Couldn't parse as integer/);

const pipeline = client.pipeline();
for (let i = 0; i < 500; ++i) pipeline.call('CL.THROTTLE', 'many', 499, 1, 1000);
const replies = await pipeline.exec();
assert.deepEqual(replies.map(([error, reply]) => error ?? reply[2]), replies.map((_, i) => 499 - i));

await client.quit();
console.log('ok');
