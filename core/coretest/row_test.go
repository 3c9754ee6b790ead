package coretest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// recorder notes failures in place of failing.
type recorder struct {
	testing.TB

	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestWantRow(t *testing.T) {
	t.Parallel()
	db := coretest.OpenDatabase(t)
	const query = `SELECT 1 AS one, NULL AS nothing, $1::boolean AS is_true`
	want := coretest.Row{"one": "1", "nothing": "NULL", "is_true": "t"}
	coretest.WantRow(t, db, want, query, true)

	r := &recorder{TB: t}
	coretest.WantRow(r, db, want, query, false)
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "is_true") {
		t.Errorf("failures = %q, want one that names the column", r.failures)
	}
}
