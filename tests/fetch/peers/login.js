// An Express server with its defaults, on a free port of 127.0.0.1, which it prints. POST /login is its one
// handler; everything else is 404.
import express from 'express';

const app = express();
app.post('/login', (request, response) => response.send('signed in\n'));
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
