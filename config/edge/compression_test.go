package edge_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
)

func TestCompression(t *testing.T) {
	t.Parallel()

	const tag = `"abc"`
	long, short := strings.Repeat("a text ", 1000), "a text"
	address := serveWeb(t, func(w http.ResponseWriter, r *http.Request) {
		text := long
		if r.URL.Path == "/api/short/" {
			text = short
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Etag", tag)
		_, _ = io.WriteString(w, text) // The test sees what has not arrived.
	}, func(*config.Settings) {})
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(client.CloseIdleConnections)
	for name, tt := range map[string]struct {
		method, path, accept string
		isCoded              bool
	}{
		"Text":      {http.MethodGet, "/api/runs/", "gzip, br", true},
		"Head":      {http.MethodHead, "/api/runs/", "gzip", false},
		"NotWanted": {http.MethodGet, "/api/runs/", "", false},
		"Refused":   {http.MethodGet, "/api/runs/", "gzip;q=0", false},
		"Short":     {http.MethodGet, "/api/short/", "gzip", false},
		"Replay":    {http.MethodPost, "/api/workflows/a/start/", "gzip", false},
		"Events":    {http.MethodGet, "/api/runs/1/events/", "gzip", false},
		"Page":      {http.MethodGet, "/app/orgs/a/", "gzip", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+address+tt.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept-Encoding", tt.accept)
			answer, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, wantTag := io.Reader(answer.Body), tag
			if tt.isCoded {
				wantTag = `"abc-gzip"`
			}
			if isCoded := answer.Header.Get("Content-Encoding") == "gzip"; isCoded != tt.isCoded {
				t.Fatalf("compressed = %v, want %v", isCoded, tt.isCoded)
			}
			if got := answer.Header.Get("Etag"); got != wantTag {
				t.Errorf("ETag = %s, want %s", got, wantTag)
			}
			varies := tt.method != http.MethodPost && name != "Events" && name != "Page"
			if got := answer.Header.Get("Vary") == "Accept-Encoding"; got != varies {
				t.Errorf("Vary = %q", answer.Header.Get("Vary"))
			}
			if tt.isCoded {
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			want := long
			if name == "Short" {
				want = short
			}
			if got, err := io.ReadAll(body); err != nil || tt.method != http.MethodHead && string(got) != want {
				t.Errorf("body = %.20q, %v, want %.20q", got, err, want)
			}
		})
	}
}
