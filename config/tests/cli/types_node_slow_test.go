//go:build slow

package cli

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// nodeUpload sends a file in a form and as a body, each without a type, and prints both answers' runs as one.
const nodeUpload = `
import { openAsBlob, readFileSync } from "node:fs";
import { basename } from "node:path";
const [url, token, path] = process.argv.slice(1);
const headers = { Authorization: "Bearer " + token };
const form = new FormData();
form.append("file", await openAsBlob(path), basename(path));
for (const [key, request] of [["form", { body: form, headers }],
    ["raw", { body: readFileSync(path), headers: { ...headers, "X-Filename": basename(path) } }]]) {
  request.headers["Idempotency-Key"] = key + " " + basename(path);
  const answer = await fetch(url, { method: "POST", ...request });
  if (answer.status !== 201) throw new Error(await answer.text());
  if (key === "raw") process.stdout.write(await answer.text());
}
`

// TestStartTakesFilesOfNode has Node.js send files as a browser does too.
func TestStartTakesFilesOfNode(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	for _, file := range filesOnDisk(t, s) {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			first := s.Must(t, 201, goUpload(t, s, file))
			wantAnswerOf(t, "node", "--input-type=module", "-e", nodeUpload, "http://"+s.Address+file.start,
				s.Harbour.Tokens.Executor, file.path)
			const query = `SELECT count(*) FROM validation_runs WHERE idempotency_key = $1`
			if runs := coretest.One[int64](t, s.DB, query, "form "+file.name); runs != 1 {
				t.Errorf("runs of the form = %d, want that of %s alone", runs, first.Body)
			}
		})
	}
}
