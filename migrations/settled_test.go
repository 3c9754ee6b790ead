package migrations_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/migrations"
)

// settled.txt lists migrations that databases have applied, as sha256sum prints them. They never change, and what is
// added gets a higher number: databases apply it after the others, so tests have to do so as well.
func TestNewMigrationsComeLast(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("settled.txt")
	if err != nil {
		t.Fatal(err)
	}
	var last string
	settled := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || name <= last {
			t.Fatalf("settled.txt has %q after %s", line, last)
		}
		settled[name], last = sum, name
	}
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	numbers := make(map[string]string)
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if other, taken := numbers[number]; taken {
			t.Errorf("%s and %s have the same number", other, name)
		}
		numbers[number] = name
		content, err := migrations.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum, isSettled := settled[name]
		delete(settled, name)
		found := sha256.Sum256(content)
		switch {
		case isSettled && sum != hex.EncodeToString(found[:]):
			t.Errorf("%s has changed: databases have applied it, so add another migration", name)
		case !isSettled && name <= last:
			t.Errorf("%s is new, so its number has to be above that of %s", name, last)
		}
	}
	for name := range settled {
		t.Errorf("%s is gone: databases have applied it", name)
	}
}
