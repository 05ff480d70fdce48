// node client.mjs ADDRESS [CA]: with TLS if there is a CA's certificate. A line of JSON in, {"call": "ShouldRateLimit", "request": {...},
// "metadata": {...}}, for a line of JSON out, {"response": {...}} or {"error": CODE, "details": ...}.
// "Watch" answers with a line for each status until the server ends it.
import fs from 'node:fs';
import readline from 'node:readline';

import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const definition = loader.loadSync(['rls.proto', 'health.proto'],
    {keepCase: true, enums: String, longs: Number, defaults: false});
const root = grpc.loadPackageDefinition(definition);
const [address, authority] = process.argv.slice(2);
const credentials = authority ? grpc.credentials.createSsl(fs.readFileSync(authority))
                              : grpc.credentials.createInsecure();
const limits = new root.envoy.service.ratelimit.v3.RateLimitService(address, credentials);
const health = new root.grpc.health.v1.Health(address, credentials);

function say(words) {
  console.log(JSON.stringify(words));
}

function finish(error, response) {
  say(error ? {error: grpc.status[error.code], details: error.details} : {response});
}

readline.createInterface({input: process.stdin}).on('line', (line) => {
  const {call, request, metadata = {}} = JSON.parse(line);
  const shown = new grpc.Metadata();
  for (const [name, value] of Object.entries(metadata)) shown.add(name, value);
  if (call === 'Watch') {
    const stream = health.Watch(request, shown);
    stream.on('data', (response) => say({response}));
    stream.on('error', (error) => finish(error));
    stream.on('end', () => say({ended: true}));
  } else {
    const client = call === 'Check' ? health : limits;
    client[call](request, shown, {deadline: Date.now() + 30000}, finish);
  }
}).on('close', () => {
  limits.close();
  health.close();
});
