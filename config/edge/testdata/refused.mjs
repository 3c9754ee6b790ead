// Sends requests that are refused while their body is still coming, with node's own clients.
//
// Reads an object with an address, sizes, attempts and cases from standard input. Prints one line for each client, size
// and attempt that did not see the status of its case, or that was told of a broken connection besides.
import http from 'node:http';
import { Readable } from 'node:stream';
import { readFileSync } from 'node:fs';

const plan = JSON.parse(readFileSync(0, 'utf8'));

// send resolves when the answer has been read and the request is over. Node stops a piped body when the answer is there
// before it was written; the request is then over when the server gives the connection up.
function send(one, body, agent) {
  return new Promise((resolve, reject) => {
    let status;
    let pending = 2;
    const settle = () => { if (--pending === 0) resolve(status); };
    const request = http.request({
      host: plan.host.split(':')[0], port: plan.host.split(':')[1], agent,
      method: one.method, path: one.path, headers: one.header,
    }, (answer) => {
      status = answer.statusCode;
      answer.resume();
      answer.on('end', settle);
      answer.on('error', reject);
    });
    request.on('error', (broken) => reject(new Error(`${broken.code}, status ${status}`)));
    request.on('close', settle);
    body(request);
  });
}

const clients = {
  whole: (one, bytes, agent) => send({ ...one, header: { ...one.header, 'Content-Length': bytes.length } },
    (request) => request.end(bytes), agent),
  piped: (one, bytes, agent) => {
    const pieces = [];
    for (let at = 0; at < bytes.length; at += 65536) pieces.push(bytes.subarray(at, at + 65536));
    return send(one, (request) => Readable.from(pieces).pipe(request), agent);
  },
  fetched: async (one, bytes) => {
    const answer = await fetch(`http://${plan.host}${one.path}`,
      { method: one.method, headers: one.header, body: bytes, redirect: 'manual' });
    await answer.arrayBuffer();
    return answer.status;
  },
};

const agent = new http.Agent({ keepAlive: true });

const bodies = new Map(plan.sizes.map((size) => [size, Buffer.alloc(size, 'x')]));

async function attempt(one, size, name) {
  const got = await clients[name](one, bodies.get(size), agent).catch((broken) => String(broken));
  if (got !== one.want) console.log(one.name, name, size, got);
}

for (let again = 0; again < plan.attempts; again++) {
  for (const size of plan.sizes) {
    const cases = plan.cases.filter((one) => size >= one.from);
    for (const one of cases) {
      await attempt(one, size, 'whole');
      await attempt(one, size, 'fetched');
    }
    // At the same time, because each that node stops takes seconds.
    await Promise.all(cases.map((one) => attempt(one, size, 'piped')));
  }
}
agent.destroy();
