// Package archive writes an organization as a file and makes it anew in another installation.
//
// An archive is JSON Lines: a header, the users, the rows of each table in the order of tables, and an end with the
// number of rows and a digest of everything before. Both directions are streams, so memory does not grow with the
// organization.
//
// An archive comes from another installation, so an import trusts nothing in it: which tables and columns are written
// is decided here, every row gets the organization that the import has created, and users that exist stay as they are:
// they are found by their address, never by an id, and are asked whether they want to be members.
package archive

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"
)

const (
	// Format names the archives.
	Format = "simplevalidations-organization"
	// Version changes when an older release would misread an archive.
	Version = 1

	// maxLine bounds a line. The largest rows are documents and chunks of them, twice their size in hexadecimal.
	maxLine = 64 << 20
	// batchRows and batchBytes bound what one statement of an import inserts.
	batchRows  = 500
	batchBytes = 4 << 20
	// maxUsers bounds the users of an organization, because they are the only rows outside of it.
	maxUsers = 10_000
)

// Header is the first line.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Schema is the newest migration of the database. An import needs the same.
	Schema int64 `json:"schema"`
	// Export is a new id for each export, so that the archives of two exports are not mixed.
	Export       uuid.UUID `json:"export"`
	Organization uuid.UUID `json:"organization"`
	Slug         string    `json:"slug"`
	// Live says that the organization was in use. Such an archive is a copy, and cannot be imported.
	Live bool `json:"live"`
}

// line is every other line. One of its members is set.
type line struct {
	User  *user           `json:"user,omitempty"`
	Table string          `json:"table,omitempty"`
	Row   json.RawMessage `json:"row,omitempty"`
	End   *end            `json:"end,omitempty"`
}

// user is a member or the holder of a token in an archive. It has no password.
type user struct {
	ID    uuid.UUID `json:"id"`
	Email string    `json:"email"`
	Name  string    `json:"name"`
	// Confirmed says that the user had proven to own the address.
	Confirmed bool `json:"confirmed,omitempty"`
}

// end is the last line.
type end struct {
	Rows   map[string]int64 `json:"rows"`
	SHA256 string           `json:"sha256"`
}

// Report says what was exported or imported.
type Report struct {
	Organization uuid.UUID
	Slug         string
	Rows         map[string]int64
	// Existing are the addresses of the people who have an account here already.
	Existing []string
}

// The reasons to refuse an export or an import.
var (
	ErrNotSuspended = errors.New("suspend the organization first, and wait a minute: org set SLUG --suspended " +
		"--reason TEXT; --live writes a copy that cannot be imported")
	ErrUnfinished = errors.New("not everything of the organization is finished")
	ErrDamaged    = errors.New("the archive is damaged")
	ErrForeign    = errors.New("the archive cannot be imported here")
)
