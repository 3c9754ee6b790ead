package workflows

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// Workflow has a series of versions, of which the latest is used unless a request pins one. It is written in
// transactions of keyed requests, and so by sql_workflows.go.
type Workflow struct {
	OrgID         uuid.UUID
	ID            uuid.UUID
	Slug          string
	Name          string
	Description   string
	IsActive      bool
	LatestVersion int
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Version is a workflow as of one of its versions.
type Version struct {
	Workflow
	Number     int
	Digest     validations.Digest
	Definition validations.Definition
}

// versionEntry is a version in a list.
type versionEntry struct {
	Number    int
	CreatedAt time.Time
}

// ref is the part of the version that runs need.
func (v Version) ref() validations.WorkflowRef {
	return validations.WorkflowRef{
		ID: v.ID, Slug: v.Slug, Version: v.Number, Definition: v.Definition, Digest: v.Digest, Active: v.IsActive,
	}
}

// State names the version, the name and the description, so that an edit can tell what it was made from.
func (v Version) State() string {
	described := idempotency.DigestBytes([]byte(v.Name + "\x00" + v.Description))
	return strconv.Itoa(v.Number) + "-" + hex.EncodeToString(described[:])
}

// File returns the version as a file.
func (v Version) File() files.File {
	return files.File{
		SchemaVersion: files.Version, Slug: v.Slug, Name: v.Name, Description: v.Description, Definition: v.Definition,
	}
}

// YAML writes the version as the file that the service at an address hands out.
func (v Version) YAML(address string) ([]byte, error) {
	return v.File().YAML(address + files.SchemaPath)
}
