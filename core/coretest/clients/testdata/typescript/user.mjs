import { Client } from "@simplevalidations/client";
import { documentFromFile } from "@simplevalidations/client/node";

const { URL, TOKEN, KEY } = process.env;
const run = await new Client(URL, { token: TOKEN }).startAndWait({
  workflow: "building", key: KEY, ...await documentFromFile("good.json"), mediaType: "application/json",
});
console.log(run.state, run.result);
