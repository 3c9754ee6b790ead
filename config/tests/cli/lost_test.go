package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// After a restore the database lacks runs that were acknowledged to clients.
func TestRunsLost(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	c := s.Console(t)
	kept, gone := s.Started(t, s.Start(t, "kept")), uuid.New()
	line := func(org, outcome string, run uuid.UUID) string {
		return fmt.Sprintf(`{"time":"2026-03-01T09:30:00Z","msg":"request","org":%q,"key_hash":"0123456789abcdef",`+
			`"outcome":%q,"run":%q,"status":201}`+"\n", org, outcome, run)
	}
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	elsewhere := uuid.New()
	log := write("web.log", "a line of another program\n"+
		line("harbour-energy", "new", uuid.MustParse(kept.ID))+line("harbour-energy", "new", gone)+
		line("harbour-energy", "replayed", gone)+line("gone-with-it", "new", elsewhere)+
		line("harbour-energy", "", uuid.New())+line("harbour-energy", "refused", uuid.New()))

	code, out, said := c.Run(t, "admin", "runs", "lost", "--log", log)
	if code != 0 || !strings.Contains(said, "2 of 3 runs are gone") {
		t.Errorf("lost = %d, %s; want 2 of 3", code, said)
	}
	for _, want := range []string{
		"2026-03-01T09:30:00.000Z  harbour-energy  " + gone.String() + "  0123456789abcdef", elsewhere.String(),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lost prints\n%s, want %s", out, want)
		}
	}
	if strings.Contains(out, kept.ID) || strings.Count(out, gone.String()) != 1 {
		t.Errorf("lost prints\n%s, want what is gone once and nothing else", out)
	}

	keys := write("keys", "kept\r\nlost-1\n\nlost-2\n")
	code, out, said = c.Run(t, "admin", "runs", "lost", "--org", "harbour-energy", "--keys", keys)
	if code != 0 || out != "KEY\nlost-1\nlost-2\n" || !strings.Contains(said, "2 of 3 keys are gone") {
		t.Errorf("lost keys = %d, %s, %s", code, out, said)
	}
	// Keys belong to organizations.
	_, out, _ = c.Run(t, "admin", "runs", "lost", "--org", s.Tiny.Slug, "--keys", keys)
	if !strings.Contains(out, "kept") {
		t.Errorf("lost keys of another organization = %s", out)
	}
	for _, wrong := range []string{
		"", "--log " + log + " --keys " + keys, "--keys " + keys, "--log /nowhere", "--log " + keys,
	} {
		code, _, said := c.Run(t, append([]string{"admin", "runs", "lost"}, strings.Fields(wrong)...)...)
		if code != 2 {
			t.Errorf("runs lost %s = %d %s, want 2", wrong, code, said)
		}
	}
}
