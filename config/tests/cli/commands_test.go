package cli

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestCommandsRefuse(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	for name, tt := range map[string]struct {
		args  []string
		code  int
		parts []string
	}{
		"MissingFlags": {
			[]string{"admin", "token", "create", "--org", "x"}, 2, []string{"--user", "admin token create --help"},
		},
		"MissingArgument": {[]string{"org", "create"}, 2, []string{"org create --help"}},
		"SpareArgument":   {[]string{"migrate", "up", "now"}, 2, []string{"takes no arguments"}},
		"NoCommand":       {[]string{"rnu"}, 2, []string{"no command rnu", "simplevalidations --help"}},
		"NoCommandInside": {[]string{"runs", "cancle", "x"}, 2, []string{"no command runs cancle", "runs --help"}},
		"NoShell":         {[]string{"completion", "tcsh"}, 2, []string{"no command completion tcsh"}},
		"UnknownFlag":     {[]string{"user", "create", "a@x.example", "--rank"}, 2, []string{"--rank", "--help"}},
		"NoOrganization": {
			[]string{"admin", "token", "create", "--org", "acme", "--user", "a@x.example"},
			1,
			[]string{`no organization "acme"`},
		},
		"WrongMembers": {
			[]string{"user", "create", "nobody", "--name", strings.Repeat("n", 201)},
			2,
			[]string{"2 values are wrong", "\n  Email ", "\n  Name must have at most 200 characters"},
		},
		"WrongMember": {[]string{"user", "create", "nobody"}, 2, []string{"simplevalidations: Email must"}},
		"WrongQuota":  {[]string{"org", "create", "acme", "--runs", "many"}, 2, []string{`"many"`, "unlimited"}},
		"WrongSlug":   {[]string{"org", "create", "Ac Me"}, 2, []string{"simplevalidations: A slug has"}},
		"NeitherOnNorOff": {
			[]string{"org", "set", "acme", "--overage=maybe"}, 2, []string{`--overage is true or false, not "maybe"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, complaint := c.Run(t, tt.args...)
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
