package workflows

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/validations"
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
	OrgID      uuid.UUID `gorm:"primaryKey"`
	WorkflowID uuid.UUID `gorm:"primaryKey"`
	Number     int       `gorm:"primaryKey"`
	CreatedAt  time.Time
}

// TableName returns the table of the model.
func (versionEntry) TableName() string { return "workflow_versions" }

// ref is the part of the version that runs need.
func (v Version) ref() validations.WorkflowRef {
	return validations.WorkflowRef{
		ID: v.ID, Slug: v.Slug, Version: v.Number, Definition: v.Definition, Digest: v.Digest, Active: v.IsActive,
	}
}
