package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func newTypeScriptDriver(tb testing.TB) Driver { //nolint:ireturn // callers hold drivers of several kinds
	tb.Helper()
	return programDriver(tb, TypeScript(tb), "node", "build/test/driver.js")
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	folder := TypeScript(t)

	t.Run("Tests", func(t *testing.T) {
		t.Parallel()
		report := execute(t, folder, nil, "npm", "test")
		for _, want := range []string{"# fail 0", "# cancelled 0", "# skipped 0", "# todo 0"} {
			if !strings.Contains(report, want) && !strings.Contains(report, strings.Replace(want, "#", "ℹ", 1)) {
				t.Errorf("report has no %q:\n%s", want, report)
			}
		}
		if strings.Contains(report, "# tests 0") {
			t.Errorf("there were no tests:\n%s", report)
		}
	})

	t.Run("PackageWorks", func(t *testing.T) {
		t.Parallel()
		installation := program.Install(t)
		server := program.Serve(t, installation.Settings)
		user := t.TempDir()
		if err := os.CopyFS(user, os.DirFS(filepath.Join("testdata", "typescript"))); err != nil {
			t.Fatal(err)
		}
		document := filepath.Join(user, "good.json")
		if err := os.WriteFile(document, program.Sample(t, "good/building.json"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := installTypeScript(t.Context(), folder, user); err != nil {
			t.Fatal(err)
		}
		execute(t, user, nil, "node", compilerIn(folder), "-p", ".")
		for name, command := range map[string][]string{
			"Modules": {"user.mjs"}, "CommonJS": {"user.cjs"}, "Types": {"dist/user.mjs"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				key := "package-" + name
				printed := execute(t, user, []string{
					"URL=" + server.URL(), "TOKEN=" + installation.Harbour.Tokens.Executor, "KEY=" + key,
				}, "node", command...)
				if !strings.HasSuffix(printed, "COMPLETED PASS\n") {
					t.Errorf("printed %q, want the result of the run", printed)
				}
				const query = `SELECT count(*) FROM validation_runs WHERE idempotency_key = $1`
				if runs := program.Count(t, installation.DB, query, key); runs != 1 {
					t.Errorf("runs = %d, want 1", runs)
				}
			})
		}
	})
}
