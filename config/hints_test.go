package config

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// PgBouncer refuses everything with one code, so the message decides.
func TestHintForARefusalOfPgBouncer(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"SASL authentication failed":     "correct the user or the password in DATABASE_URL",
		"password authentication failed": "correct the user or the password in DATABASE_URL",
		"no such database: validations":  "correct the name of the database in DATABASE_URL",
		"query_wait_timeout":             "look at the log of PgBouncer",
	} {
		if hint := DatabaseHint(&pgconn.PgError{Code: "08P01", Message: message}); !strings.HasPrefix(hint, want) {
			t.Errorf("hint for %q = %q, want %q", message, hint, want)
		}
	}
}
