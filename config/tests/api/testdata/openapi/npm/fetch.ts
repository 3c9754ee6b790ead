// Plays the scenario with openapi-fetch, which is typed by the OpenAPI document.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";
import { play, table } from "./scenario.js";

const client = createClient<paths>({
  baseUrl: process.env.ADDRESS!,
  headers: { Authorization: `Bearer ${process.env.TOKEN}` },
});

await play({
  async start(key) {
    const { data, error } = await client.POST("/api/workflows/{id}/start/", {
      params: { path: { id: "meter-readings" }, header: { "Idempotency-Key": key } },
      headers: { "Content-Type": "text/csv" },
      body: table,
      bodySerializer: (body) => body,
    });
    if (error) {
      throw new Error(`the run was not started: ${error.code}`);
    }
    return data;
  },
  async read(id) {
    const { data, error } = await client.GET("/api/runs/{id}/", { params: { path: { id } } });
    if (!data) {
      throw new Error(`the run cannot be read: ${error?.code}`);
    }
    return data;
  },
  async list(query) {
    const { data, error } = await client.GET("/api/runs/", { params: { query } });
    if (error) {
      throw new Error(`the runs cannot be listed: ${error.code}`);
    }
    return data;
  },
  async refusal(id) {
    const { error } = await client.GET("/api/runs/{id}/", { params: { path: { id } } });
    return error?.code;
  },
});
