// An Express server behind express-rate-limit, on a free port of 127.0.0.1, which it prints.
//
//   express.js LIMIT WINDOW_MS
//
// /draft-6/, /draft-7/, /draft-8/ and /legacy/ tell their limit in that form. Each X-Run is a client.
import express from 'express';
import {rateLimit} from 'express-rate-limit';

const [limit, windowMs] = process.argv.slice(2).map(Number);
const app = express();
for (const form of ['draft-6', 'draft-7', 'draft-8', 'legacy']) {
  app.use(`/${form}/`, rateLimit({
    limit,
    windowMs,
    standardHeaders: form === 'legacy' ? false : form,
    legacyHeaders: form === 'legacy',
    keyGenerator: request => request.get('x-run') ?? '',
  }));
}
app.use((request, response) => response.send('ok\n'));
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
