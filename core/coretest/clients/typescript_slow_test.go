//go:build slow

package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// browserPage starts a run with a File, by a key that outlives the page, and waits for its end.
const browserPage = `<!doctype html><html lang="en"><title>Client</title><output></output><script type="module">
import { Client, keyFromStorage } from "/client/esm/index.js";
const said = document.querySelector("output");
try {
	const client = new Client(location.origin, { token: %q });
	const content = new File([%q], "building.json", { type: "application/json" });
	const key = await keyFromStorage(localStorage, "work");
	const names = [];
	const onEvent = ({ name }) => names.push(name);
	const run = await client.startAndWait({ workflow: "building", key, content }, { onEvent });
	const ids = [];
	for await (const listed of client.runs({ idempotencyKey: key })) {
		ids.push(listed.id);
	}
	said.value = [run.state, run.result, key, ids.length, names.at(-1)].join(" ");
} catch (error) {
	said.value = "failed: " + error;
}
</script>`

// TestTypeScriptBrowser has a page of the same host start a run, twice, as if it was loaded again.
func TestTypeScriptBrowser(t *testing.T) {
	t.Parallel()
	folder := TypeScript(t)
	installation := program.Install(t)
	server := program.Serve(t, installation.Settings)
	target, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/client/", http.StripPrefix("/client/", http.FileServer(http.Dir(filepath.Join(folder, "dist")))))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, browserPage, installation.Harbour.Tokens.Executor,
			program.Sample(t, "good/building.json"))
	})
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/api/", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	tab := browser.Open(t).Tab(t, browser.Viewport{})
	var keys []string
	for range 2 {
		tab.Go(site.URL + "/")
		var said string
		program.Await(t, "the page ends", func() bool {
			said = browser.Eval[string](tab, `document.querySelector("output").value`)
			return said != ""
		})
		words := strings.Fields(said)
		const count = 5
		if len(words) != count || words[0] != "COMPLETED" || words[1] != "PASS" || words[3] != "1" {
			t.Fatalf("the page said %q, want a completed run that passed, and one run of its key", said)
		}
		keys = append(keys, words[2])
		for _, complaint := range tab.Complaints() {
			t.Errorf("the browser complains: %s", complaint)
		}
	}
	if keys[0] != keys[1] {
		t.Errorf("keys = %q, want that the page that was loaded again had the same", keys)
	}
	const query = "SELECT count(*) FROM validation_runs WHERE idempotency_key = $1"
	if runs := program.Count(t, installation.DB, query, keys[0]); runs != 1 {
		t.Errorf("runs = %d, want 1", runs)
	}
}
