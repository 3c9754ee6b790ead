package cli

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// TestWrongUseSaysWhatIsWrong has the commands that people mistype. Each answer says what to write instead, in words of
// the help, and is one line where one thing is wrong.
func TestWrongUseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	for line, want := range map[string]string{
		"run":                           "FILE is missing; see simplevalidations run --help",
		"org create":                    "; see simplevalidations org create --help",
		"org set acme":                  "Nothing is to be set; see simplevalidations org set --help",
		"org set acme --suspended":      "--suspended and --reason are only set together",
		"user set a@x --reason why":     "--disabled and --reason are only set together",
		"members set":                   "MEMBER and ROLE are missing; see simplevalidations members set --help",
		"members set a b c":             `"c" is one argument too many; see simplevalidations members set --help`,
		"migrate up now":                "takes no arguments",
		"admin token create --org x":    "--user is missing; see simplevalidations admin token create --help",
		"idempotency list":              "--org is missing; see simplevalidations idempotency list --help",
		"idempotency list x --org acme": "x is not a key's id",
		"idempotency explain /dev/null": "--org and --workflow are missing",
		"rnu":                           "there is no command rnu; did you mean run or runs? See",
		"chek":                          "there is no command chek; did you mean check? See simplevalidations --help",
		"runs watc x": "there is no command runs watc; did you mean watch? " +
			"See simplevalidations runs --help",
		"nonsense":                       "there is no command nonsense; see simplevalidations --help",
		"completion tcsh":                "there is no command completion tcsh",
		"user create a@x.example --rank": "--rank; see simplevalidations user create --help",
		"runs list --since yesterday":    `--since is a time like 2026-03-01 or 2026-03-01T09:30:00Z, not "yesterday"`,
		"run a -w b --timeout 5":         `--timeout is a duration like 90s, 15m or 24h, not "5"`,
		"idempotency list --limit some":  `--limit is a whole number, not "some"`,
		"org set acme --overage=maybe":   `--overage is true or false, not "maybe"`,
		"check a -w b --output report.x": "no format has this extension; write FORMAT=report.x",
		"user create nobody":             "simplevalidations: Email must",
		"org create acme --runs many":    "unlimited",
		"org create Ac_Me":               "simplevalidations: A slug has",

		"idempotency list --org a --limit -1":                   "--limit must be at least 0",
		"idempotency release x --reason why":                    "--org is missing",
		"user create nobody --name " + strings.Repeat("n", 201): "\n  Name must have at most 200 characters",
	} {
		code, out, complaint := c.Run(t, strings.Fields(line)...)
		if code != 2 || out != "" || !strings.Contains(complaint, want) ||
			!strings.Contains(want, "\n") && strings.Count(complaint, "\n") != 1 {
			t.Errorf("%s = %d %q %q, want 2 and %q", line, code, out, complaint, want)
		}
		if strings.Contains(complaint, "in your organization") || strings.Contains(complaint, "request body") {
			t.Errorf("complaint = %q, want nothing of requests and their callers", complaint)
		}
	}
	for line, slug := range map[string]string{
		"org list none": "none", "admin token create --org acme --user a@x.example": "acme",
	} {
		want := "simplevalidations: There is no organization \"" + slug + "\".\n"
		if code, out, complaint := c.Run(t, strings.Fields(line)...); code != 1 || out != "" || complaint != want {
			t.Errorf("%s = %d %q %q, want 1 and %q", line, code, out, complaint, want)
		}
	}
}
