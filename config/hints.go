package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// WithHint adds to an error of the database what to do, where that is known.
func WithHint(err error) error {
	pgErr, isRefused := errors.AsType[*pgconn.PgError](err)
	_, isUnreached := errors.AsType[*pgconn.ConnectError](err)
	if isRefused && hintOf(pgErr) == "" || !isRefused && !isUnreached {
		return err
	}
	return fmt.Errorf("%w; %s", err, DatabaseHint(err))
}

// DatabaseHint says what to do about a database that cannot be used.
func DatabaseHint(err error) string {
	if _, ok := errors.AsType[*UsageError](err); ok {
		return "change the settings as it says"
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return cmp.Or(hintOf(pgErr), "look at the log of the server")
	}
	switch {
	case errors.Is(err, db.ErrReadOnly):
		return hintReadOnly
	case errors.Is(err, db.ErrFull):
		return hintFull
	case isAboutTLS(err):
		return "correct sslmode and sslrootcert in DATABASE_URL, or the certificate and the clock of the server"
	default:
		return "start the server, or correct its host and port in DATABASE_URL"
	}
}

const (
	hintReadOnly = "let DATABASE_URL lead to the primary, or turn default_transaction_read_only off"
	hintFull     = "free space on the disk of the server"
)

// hintOf says what to do about an error of the server, or nothing.
func hintOf(refusal *pgconn.PgError) string {
	switch code := refusal.Code; {
	case code == "08P01": // PgBouncer has no other code.
		return hintOfPooler(refusal.Message)
	case strings.HasPrefix(code, "28"):
		return "correct the user or the password in DATABASE_URL, or pg_hba.conf of the server"
	case code == "3D000":
		return "create the database, or correct its name in DATABASE_URL"
	case code == "42501":
		return "give the role of DATABASE_URL its rights: see Rights in the database in the guide on security"
	case code == "25006":
		return hintReadOnly
	case code == "53100":
		return hintFull
	case code == "53300":
		return "raise max_connections or the limit of the role, lower SV_DB_MAX_CONNS, or put PgBouncer in between"
	case code == "57P03":
		return "wait until the server has started, or look at its log"
	case code == "42P01" || code == "42703": // A table or a column is missing.
		return "run simplevalidations migrate up"
	default:
		return ""
	}
}

func hintOfPooler(message string) string {
	switch {
	case strings.Contains(message, "authentication failed"):
		return "correct the user or the password in DATABASE_URL, or in the auth_file of PgBouncer"
	case strings.Contains(message, "no such database"):
		return "correct the name of the database in DATABASE_URL, or add it to PgBouncer"
	default:
		return "look at the log of PgBouncer"
	}
}

// isAboutTLS goes by the text, because the driver has no type for a server that refuses TLS.
func isAboutTLS(err error) bool {
	text := strings.ReplaceAll(err.Error(), "tls error: timeout", "") // Nothing was said about TLS yet.
	return strings.Contains(text, "tls error") || strings.Contains(text, "x509:")
}

// redisHint says what to do about a Redis that answers and takes no messages.
func redisHint(err error) string {
	hint := "look at the log of the server"
	for part, one := range map[string]string{
		"OOM ":      "raise its maxmemory, or remove what others keep there",
		"READONLY ": "let REDIS_URL lead to the primary",
		"MISCONF ":  "free its disk, or correct its dir, so that it can save its data",
		"NOPERM ":   "give the user of REDIS_URL its rights",
	} {
		if strings.Contains(err.Error(), part) {
			hint = one
		}
	}
	return hint + "; until then runs are accepted, but not executed"
}
