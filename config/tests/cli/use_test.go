package cli

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// TestWrongUseSaysWhatIsWrong has the commands that people mistype. Each answer is one line with what to write instead,
// in words of the help.
func TestWrongUseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	for line, want := range map[string]string{
		"run":               "FILE is missing; see simplevalidations run --help",
		"org set acme":      "Nothing is to be set; see simplevalidations org set --help",
		"members set":       "MEMBER and ROLE are missing; see simplevalidations members set --help",
		"members set a b c": `"c" is one argument too many; see simplevalidations members set --help`,
		"idempotency list":  "--org is missing; see simplevalidations idempotency list --help",
		"chek":              "there is no command chek; did you mean check? See simplevalidations --help",
		"runs watc x": "there is no command runs watc; did you mean watch? " +
			"See simplevalidations runs --help",
		"nonsense":                       "there is no command nonsense; see simplevalidations --help",
		"runs list --since yesterday":    `--since is a time like 2026-03-01 or 2026-03-01T09:30:00Z, not "yesterday"`,
		"run a -w b --timeout 5":         `--timeout is a duration like 90s, 15m or 24h, not "5"`,
		"idempotency list --limit some":  `--limit is a whole number, not "some"`,
		"check a -w b --output report.x": "no format has this extension; write FORMAT=report.x",
	} {
		code, out, complaint := c.Run(t, strings.Fields(line)...)
		if code != 2 || out != "" || !strings.Contains(complaint, want) || strings.Count(complaint, "\n") != 1 {
			t.Errorf("%s = %d %q %q, want 2 and %q", line, code, out, complaint, want)
		}
	}
	const want = "simplevalidations: There is no organization \"none\".\n"
	if code, _, complaint := c.Run(t, "org", "list", "none"); code != 1 || complaint != want {
		t.Errorf("org list = %d %q, want 1 and %q", code, complaint, want)
	}
}
