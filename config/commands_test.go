package config_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// console is a command line on a database of its own.
type console struct {
	database string
	environ  []string
}

func setupConsole(tb testing.TB) console {
	tb.Helper()
	database := dbtest.DatabaseURL(tb)
	return console{database: database, environ: []string{
		"DATABASE_URL=" + database, "SV_DATA_DIR=" + tb.TempDir(), "SV_LOG_LEVEL=error",
		"SV_SECRET_KEY=" + testSecretKey,
	}}
}

// run returns the exit code, what is printed, and the complaint.
func (c console) run(tb testing.TB, args ...string) (int, string, string) {
	tb.Helper()
	var out, complaint bytes.Buffer
	code := config.Program{
		Environ: c.environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaint,
	}.Run(tb.Context(), args)
	return code, out.String(), complaint.String()
}

func TestCommandsRefuse(t *testing.T) {
	t.Parallel()
	c := setupConsole(t)
	for name, tt := range map[string]struct {
		args  []string
		code  int
		parts []string
	}{
		"MissingFlags":    {[]string{"token", "create", "--org", "x"}, 2, []string{`"user"`, "token create --help"}},
		"MissingArgument": {[]string{"org", "create"}, 2, []string{"org create --help"}},
		"SpareArgument":   {[]string{"migrate", "up", "now"}, 2, []string{"takes no arguments"}},
		"NoCommand":       {[]string{"rnu"}, 2, []string{"no command rnu", "simplevalidations --help"}},
		"NoCommandInside": {[]string{"runs", "cancle", "x"}, 2, []string{"no command runs cancle", "runs --help"}},
		"NoShell":         {[]string{"completion", "tcsh"}, 2, []string{"no command completion tcsh"}},
		"UnknownFlag":     {[]string{"user", "create", "a@x.example", "--rank"}, 2, []string{"--rank", "--help"}},
		"NoOrganization": {
			[]string{"token", "create", "--org", "acme", "--user", "a@x.example"},
			1,
			[]string{`no organization "acme"`},
		},
		"WrongMembers": {
			[]string{"user", "create", "nobody", "--name", strings.Repeat("n", 201)},
			2,
			[]string{"2 values are wrong", "\n  Email ", "\n  Name must be at most 200"},
		},
		"WrongMember": {[]string{"user", "create", "nobody"}, 2, []string{"simplevalidations: Email must"}},
		"WrongQuota":  {[]string{"org", "create", "acme", "--runs", "many"}, 2, []string{`"many"`, "unlimited"}},
		"WrongSlug":   {[]string{"org", "create", "Ac Me"}, 2, []string{"simplevalidations: A slug has"}},
		"NeitherOnNorOff": {
			[]string{"org", "set-overage", "acme", "maybe"}, 2, []string{`is on or off, not "maybe"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, complaint := c.run(t, tt.args...)
			if code != tt.code || out != "" {
				t.Errorf("exit code = %d, output %q, want %d and none", code, out, tt.code)
			}
			for _, part := range tt.parts {
				if !strings.Contains(complaint, part) {
					t.Errorf("complaint = %q, want it to name %s", complaint, part)
				}
			}
			if strings.Contains(complaint, "in your organization") || strings.Contains(complaint, "request body") {
				t.Errorf("complaint = %q, want nothing of requests and their callers", complaint)
			}
		})
	}
}
