package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestListKeysCommand(t *testing.T) {
	t.Parallel()
	const keys = 450
	c := fixture.SetupConsole(t)
	if code, _, complaint := c.Run(t, "org", "create", "acme"); code != 0 {
		t.Fatalf("create an organization: %s", complaint)
	}
	coretest.Prepare(t, c.Database, `
		INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
			request_hash, target_digest, content_digest, options_digest, request_id,
			response_status, response_headers, response_body, recovery_point, created_at, expires_at)
		SELECT o.id, gen_random_uuid(), 'k' || n, 'tests', 'POST', '/', 1, z AS a, z AS b, z AS c, z AS d, '', 201,
			'{}', z, 'finished', now(), now() + interval '1 day'
		FROM organizations AS o, generate_series(1, $1) AS n, decode(repeat('00', 32), 'hex') AS z`, keys)
	for _, tt := range []struct {
		limit  string
		listed int
		told   bool
	}{
		{"1000", keys, false},
		{"0", keys, false},
		{"450", keys, false},
		{"449", 449, true},
		{"200", 200, true},
		{"1", 1, true},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			t.Parallel()
			code, out, told := c.Run(t, "idempotency", "list", "--org", "acme", "--limit", tt.limit)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if code != 0 || len(lines)-1 != tt.listed {
				t.Errorf("exit code = %d, keys = %d, want 0 and %d; %s", code, len(lines)-1, tt.listed, told)
			}
			if strings.Contains(told, "there are more keys") != tt.told {
				t.Errorf("standard error = %q, want it to tell of more keys: %t", told, tt.told)
			}
			seen := make(map[string]bool)
			for _, line := range lines {
				seen[line] = true
			}
			if len(seen) != len(lines) {
				t.Errorf("different lines = %d of %d, want each once", len(seen), len(lines))
			}
		})
	}
}

// TestExplainCommand wants the fingerprint of what the command run would send.
func TestExplainCommand(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	c := s.Console(t)
	file := filepath.Join(t.TempDir(), "readings.csv")
	if err := os.WriteFile(file, []byte(fixture.SampleText(t, "good/meter-readings.csv")), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Must(t, http.StatusCreated, s.Start(t, "explained").With("X-Filename", "readings.csv"))
	stored := coretest.One[string](t, s.DB,
		`SELECT encode(request_hash, 'hex') FROM idempotency_keys WHERE key = 'explained'`)

	explain := []string{"idempotency", "explain", file, "--org", s.Harbour.Slug, "--workflow", "meter-readings"}
	code, out, complaint := c.Run(t, explain...)
	if code != 0 || !strings.Contains(out, stored) || !strings.Contains(out, "text/csv") {
		t.Errorf("exit code = %d, output %s (%s), want the fingerprint %s", code, out, complaint, stored)
	}
	if _, out, _ = c.Run(t, append(explain, "--content-type", "text/plain")...); strings.Contains(out, stored) {
		t.Errorf("output = %s, want another fingerprint for another type", out)
	}
	for _, other := range [][]string{{"--filename", "other.csv"}, {"--version", "1"}} {
		if _, out, _ = c.Run(t, append(explain, other...)...); strings.Contains(out, stored) {
			t.Errorf("output = %s, want another fingerprint with %v", out, other)
		}
	}
	explain[6] = "building"
	if code, _, complaint = c.Run(t, explain...); code != 2 || !strings.Contains(complaint, "--content-type") {
		t.Errorf("exit code = %d, complaint %q, want 2 and what to do", code, complaint)
	}
}
