// A service that limits with a Redis client: one call per request. Node needs only `npm install redis`.
import { createClient } from 'redis';

const headgate = createClient({ url: process.argv[2] ?? 'redis://127.0.0.1:6380' });
await headgate.connect();

// Whether `user` may send one more request, by the policy "burst" of headgate.yaml.
async function admit(user) {
  const [admitted, , left, , wait] = await headgate.sendCommand(['HG.DECIDE', 'burst', user]);
  return { admitted: admitted === 1, left, wait };
}

for (let request = 1; request <= 7; ++request) {
  const { admitted, left, wait } = await admit('alice');
  console.log(`request ${request}: ${admitted ? `admitted, ${left} left` : `denied, wait ${Math.ceil(wait / 1000)} s`}`);
}
await headgate.close();
