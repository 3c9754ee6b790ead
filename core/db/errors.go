package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ViolatedConstraint returns the name of the constraint that the statement broke, or "".
func ViolatedConstraint(err error) string {
	if pgErr, ok := refusal(err); ok && class(pgErr) == "23" {
		return pgErr.ConstraintName
	}
	return ""
}

// IsLockTimeout reports whether the statement gave up waiting for another transaction's lock (55P03).
func IsLockTimeout(err error) bool {
	pgErr, ok := refusal(err)
	return ok && pgErr.Code == "55P03"
}

// IsMemberFault reports whether one row of a bulk statement is at fault (classes 21, 22, 23 and 40), so
// that trying the rows one by one can save the others.
func IsMemberFault(err error) bool {
	pgErr, ok := refusal(err)
	if !ok {
		return false
	}
	switch class(pgErr) {
	case "21", "22", "23", "40":
		return true
	default:
		return false
	}
}

// IsUnavailable reports whether the database could not answer: not reached, out of resources (class 53),
// going down (57), read-only after a failover (25006), a lock or a deadline that ran out, a transaction that was ended
// because its process was silent (25P03) or took too long (25P04), a session that the server has ended, a prepared
// statement whose result a migration has changed.
//
// It says nothing about a commit: ask for ErrOutcomeUnknown first.
func IsUnavailable(err error) bool {
	if isPlanChanged(err) {
		return true
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		if slices.Contains([]string{"FATAL", "PANIC"}, pgErr.SeverityUnlocalized) {
			return true
		}
		switch class(pgErr) {
		case "08", "53", "57":
			return true
		default:
			return slices.Contains([]string{"25006", "25P03", "25P04", "55P03"}, pgErr.Code)
		}
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return pgconn.SafeToRetry(err) || slices.ContainsFunc([]error{
		ErrReadOnly, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, driver.ErrBadConn,
		sql.ErrConnDone,
	}, func(broken error) bool { return errors.Is(err, broken) })
}

// IsAway reports whether the database cannot be reached or written to for a reason that passes without a change of
// settings: it may be starting, or just have failed over. A refused password or an unknown database is no such case.
func IsAway(err error) bool {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains([]string{"08", "53", "57"}, class(pgErr)) || pgErr.Code == "25006"
	}
	_, isConnecting := errors.AsType[*pgconn.ConnectError](err)
	return isConnecting || IsUnavailable(err)
}

// IsContention reports whether the database refused a transaction only because of others that ran
// beside it (serialization failure, deadlock).
func IsContention(err error) bool {
	pgErr, ok := refusal(err)
	return ok && (pgErr.Code == "40001" || pgErr.Code == "40P01")
}

// isPlanChanged reports whether a migration has changed what a prepared statement returns (0A000). The driver has
// forgotten the statement when it gives the error, so the next try prepares it anew.
func isPlanChanged(err error) bool {
	pgErr, ok := refusal(err)
	return ok && pgErr.Code == "0A000" && strings.Contains(pgErr.Message, "cached plan")
}

// refusal returns the error with which the database has certainly refused a statement or a commit. An error that leaves
// the outcome of a commit open is none, whatever its code: nothing may be repeated or taken apart because of it.
func refusal(err error) (*pgconn.PgError, bool) {
	if errors.Is(err, ErrOutcomeUnknown) {
		return nil, false
	}
	return errors.AsType[*pgconn.PgError](err)
}

func class(err *pgconn.PgError) string {
	if len(err.Code) < 2 {
		return ""
	}
	return err.Code[:2]
}
