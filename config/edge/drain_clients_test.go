package edge_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
)

// refusedCase is a request that is refused before its body has been read.
type refusedCase struct {
	Name   string            `json:"name"`
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Header map[string]string `json:"header"`
	Want   int               `json:"want"`
	// From is the smallest body that is refused so.
	From int `json:"from"`
}

// refusedPlan says what a client has to send, and how often.
type refusedPlan struct {
	Host     string        `json:"host"`
	Sizes    []int         `json:"sizes"`
	Attempts int           `json:"attempts"`
	Cases    []refusedCase `json:"cases"`
}

const megabyte = 1_000_000

// refusedPlan lists one request for each early refusal.
func (s *stage) refusedPlan() refusedPlan {
	const start = "/api/workflows/meter-readings/start/"
	header := func(token string, more ...string) map[string]string {
		fields := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "text/csv"}
		for i := 0; i < len(more); i += 2 {
			fields[more[i]] = more[i+1]
		}
		return fields
	}
	executor := s.Harbour.Tokens.Executor
	post := func(name, path string, want int, fields map[string]string) refusedCase {
		return refusedCase{Name: name, Method: http.MethodPost, Path: path, Header: fields, Want: want}
	}
	tooLarge := post("TooLarge", start, http.StatusRequestEntityTooLarge, header(executor))
	tooLarge.From = 11 * megabyte
	wrongMethod := post("WrongMethod", start, http.StatusMethodNotAllowed, header(executor))
	wrongMethod.Method = http.MethodPut
	return refusedPlan{
		Host:     s.Address,
		Sizes:    []int{3 * megabyte, 9 * megabyte, 11 * megabyte, 15 * megabyte},
		Attempts: 2,
		Cases: []refusedCase{
			post("BadToken", start, http.StatusUnauthorized, header("sv_unknown")),
			post("Viewer", start, http.StatusForbidden, header(s.Harbour.Tokens.Viewer)),
			post("UnknownWorkflow", "/api/workflows/nothing/start/", http.StatusNotFound, header(executor)),
			post("UnknownPath", "/nothing/", http.StatusNotFound, header(executor)),
			post("BadKey", start, http.StatusBadRequest, header(executor, "Idempotency-Key", `"a`)),
			post("SignedOut", "/app/orgs/"+s.Harbour.Slug+"/workflows/meter-readings/launch/", http.StatusUnauthorized,
				header("", "Content-Type", "multipart/form-data; boundary=x")),
			wrongMethod, tooLarge,
		},
	}
}

// sendRefused runs a client, which reads the plan and prints what was not refused as planned.
func sendRefused(tb testing.TB, plan refusedPlan, name, script string) {
	tb.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), name, filepath.Join("testdata", script))
	cmd.Stdin = bytes.NewReader(text)
	output, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, output)
	}
	if len(output) != 0 {
		tb.Errorf("not refused as planned:\n%s", output)
	}
}

// TestRefusalsArriveInPython has clients that write before they read see why they are refused.
func TestRefusalsArriveInPython(t *testing.T) {
	t.Parallel()
	sendRefused(t, setup(t).refusedPlan(), "python3", "refused.py")
}
