// Starts a run with a client that is typed by the OpenAPI document, and prints the run's id.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const table = "meter_id,read_at,kwh,quality,tariff\nMTR-1001,2026-03-01T00:00:00Z,34.83,A,night\n";

const client = createClient<paths>({
  baseUrl: process.env.ADDRESS!,
  headers: { Authorization: `Bearer ${process.env.TOKEN}` },
});

const started = await client.POST("/api/workflows/{id}/start/", {
  params: { path: { id: "meter-readings" }, header: { "Idempotency-Key": process.env.KEY! } },
  headers: { "Content-Type": "text/csv" },
  body: table,
  bodySerializer: (body) => body,
});
if (started.error) {
  throw new Error(`the run was not started: ${started.error.code}`);
}
const read = await client.GET("/api/runs/{id}/", { params: { path: { id: started.data.id } } });
if (read.data?.state !== "PENDING") {
  throw new Error(`the run cannot be read: ${JSON.stringify(read.error)}`);
}
const refused = await client.GET("/api/runs/{id}/", {
  params: { path: { id: "00000000-0000-0000-0000-000000000000" } },
});
if (refused.error?.code !== "not_found") {
  throw new Error(`the problem cannot be read: ${JSON.stringify(refused.data)}`);
}
process.stdout.write(started.data.id);
