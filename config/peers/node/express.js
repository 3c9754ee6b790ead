'use strict';
// express-idempotency as its README sets it up: in memory, or in Redis if the environment has its address.

const express = require('express');
const idempotency = require('express-idempotency');
const RedisAdapter = require('express-idempotency-redis-adapter').default;
const { authenticate, create, list, port } = require('./orders');

const options = {};
if (process.env.REDIS_URL) {
  options.dataAdapter = new RedisAdapter({ connectionConfig: { url: process.env.REDIS_URL } });
  options.dataAdapter.connect();
}

const app = express();
app.use(express.json(), authenticate);
app.post('*', idempotency.idempotency(options));
app.post('/orders', async (req, res) => {
  if (idempotency.getSharedIdempotencyService().isHit(req)) return;
  try {
    res.status(201).json(await create(req.tenant, req.body));
  } catch (error) {
    res.status(error.status ?? 500).json({ error: error.message });
  }
});
app.get('/orders', (req, res) => res.json(list(req.query.reference)));
app.listen(port, '127.0.0.1');
