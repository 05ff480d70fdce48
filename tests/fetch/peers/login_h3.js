// The same as login.js with h3, the server of Nitro and Nuxt.
import { createServer } from 'node:http';
import { createApp, createRouter, eventHandler, toNodeListener } from 'h3';

const app = createApp();
app.use(createRouter().post('/login', eventHandler(() => 'signed in\n')));
const server = createServer(toNodeListener(app));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
