// Verifies the requests of calls with the library, as a driver: one call on each line, and its outcome.
import { createInterface } from "node:readline";

import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { id, args: { webhook: { headers, body, secrets } } } = JSON.parse(line);
  try {
    const event = new Webhook(secrets[0]).verify(body, headers);
    console.log(JSON.stringify({ id, ok: true, items: [event.type] }));
  } catch (error) {
    console.log(JSON.stringify({ id, ok: false, error: "invalid", text: String(error) }));
  }
}
