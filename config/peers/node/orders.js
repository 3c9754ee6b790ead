'use strict';
// The handler that every library protects, and its rows in a file of one JSON object a line.

const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const [port, folder] = process.argv.slice(2);
const file = path.join(folder, 'orders.jsonl');
const rows = fs.existsSync(file)
  ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line))
  : [];

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function create(tenant, { reference = '', amount = 0, delay_ms: delay = 0 }) {
  if (amount < 0) throw new Refusal(400, 'the amount is negative');
  if (amount === 500) throw new Refusal(500, 'the handler failed');
  const wait = amount === 1000 && !delay ? 1000 : delay;
  if (wait) await new Promise((resolve) => setTimeout(resolve, wait));
  const row = { id: randomUUID(), reference, amount, tenant };
  fs.appendFileSync(file, `${JSON.stringify(row)}\n`);
  rows.push(row);
  return row;
}

const list = (reference) => rows.filter((row) => !reference || row.reference === reference);

// authenticate is middleware of Express: the token names the tenant, a or b.
function authenticate(req, res, next) {
  const [, tenant] = /^Bearer ([ab])$/.exec(req.get('authorization') ?? '') ?? [];
  if (!tenant) return res.status(401).json({ error: 'the token is missing or wrong' });
  req.tenant = tenant;
  next();
}

module.exports = { authenticate, create, folder, list, port: Number(port) };
