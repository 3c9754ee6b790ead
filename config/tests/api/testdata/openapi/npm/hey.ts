// Plays the scenario with the SDK that @hey-api/openapi-ts generates.
import { client } from "./hey/client.gen.js";
import { listRuns, readRun, startRun } from "./hey/index.js";
import { play, table } from "./scenario.js";

client.setConfig({ baseUrl: process.env.ADDRESS!, auth: process.env.TOKEN! });

await play({
  async start(key) {
    const { data, error } = await startRun({
      path: { id: "meter-readings" },
      headers: { "Idempotency-Key": key, "Content-Type": "text/csv" },
      body: table,
      bodySerializer: null,
    });
    if (!data) {
      throw new Error(`the run was not started: ${error.code}`);
    }
    return data;
  },
  async read(id) {
    const { data, error } = await readRun({ path: { id } });
    if (!data) {
      throw new Error(`the run cannot be read: ${JSON.stringify(error)}`);
    }
    return data;
  },
  async list(query) {
    const { data, error } = await listRuns({ query });
    if (!data) {
      throw new Error(`the runs cannot be listed: ${error.code}`);
    }
    return data;
  },
  async refusal(id) {
    const { error } = await readRun({ path: { id } });
    return error ? error.code : undefined;
  },
});
