package migrations_test

import (
	"io/fs"
	"regexp"
	"testing"

	"github.com/simplevalidations/simplevalidations/migrations"
)

var (
	buildsIndex = regexp.MustCompile(
		`(?is)CREATE\s+(?:UNIQUE\s+)?INDEX\s+(CONCURRENTLY\s+)?(?:IF NOT EXISTS\s+)?\w+\s+ON\s+(\w+)`)
	createsTable = regexp.MustCompile(`(?is)CREATE\s+TABLE\s+(\w+)`)
)

// An index of a table that may have grown is built while others write to it. The files up to this one were written
// before there was a table that could have grown.
func TestIndexesAreBuiltConcurrently(t *testing.T) {
	t.Parallel()

	const last = "00017"
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := migrations.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fresh := make(map[string]bool)
		for _, table := range createsTable.FindAllSubmatch(text, -1) {
			fresh[string(table[1])] = true
		}
		for _, index := range buildsIndex.FindAllSubmatch(text, -1) {
			if len(index[1]) == 0 && !fresh[string(index[2])] && name > last {
				t.Errorf("%s: %s holds up everybody who writes to %s; use CONCURRENTLY", name, index[0], index[2])
			}
		}
	}
}
