const { readFileSync } = require("node:fs");
const { Client } = require("@simplevalidations/client");

const { URL, TOKEN, KEY } = process.env;
new Client(URL, { token: TOKEN })
  .startAndWait({ workflow: "building", key: KEY, content: readFileSync("good.json"), mediaType: "application/json" })
  .then((run) => console.log(run.state, run.result));
