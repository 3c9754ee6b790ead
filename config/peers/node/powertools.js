'use strict';
// Powertools for AWS Lambda around a handler that gets the request as API Gateway would send it, with Redis.

const express = require('express');
const { IdempotencyConfig, makeIdempotent } = require('@aws-lambda-powertools/idempotency');
const { CachePersistenceLayer } = require('@aws-lambda-powertools/idempotency/cache');
const { createClient } = require('@redis/client');
const { authenticate, create, list, port } = require('./orders');

process.env.AWS_LAMBDA_FUNCTION_NAME = 'orders';
const timeout = 30_000;
const statuses = { IdempotencyAlreadyInProgressError: 409, IdempotencyValidationError: 422 };

async function main() {
  const client = await createClient({ url: process.env.REDIS_URL }).connect();
  const config = new IdempotencyConfig({
    eventKeyJmesPath: 'headers."idempotency-key"',
    payloadValidationJmesPath: process.env.VALIDATE,
  });
  const handler = makeIdempotent(
    async (event, _context) => ({
      statusCode: 201,
      body: JSON.stringify(await create(event.tenant, JSON.parse(event.body))),
    }),
    { persistenceStore: new CachePersistenceLayer({ client }), config },
  );
  const app = express();
  app.use(express.text({ type: '*/*' }), authenticate);
  app.post('/orders', async (req, res) => {
    const end = Date.now() + timeout;
    const context = {
      functionName: 'orders',
      awsRequestId: '',
      memoryLimitInMB: '128',
      getRemainingTimeInMillis: () => end - Date.now(),
    };
    try {
      const event = { headers: req.headers, body: req.body, tenant: req.tenant };
      const answer = await handler(event, context);
      res.status(answer.statusCode).type('json').send(answer.body);
    } catch (error) {
      res.status(error.status ?? statuses[error.name] ?? 500).json({ error: error.message });
    }
  });
  app.get('/orders', (req, res) => res.json(list(req.query.reference)));
  app.listen(port, '127.0.0.1');
}

main();
