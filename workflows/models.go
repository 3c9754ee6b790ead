package workflows

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/validations"
)

// Workflow names a series of versions, of which the latest is used unless a request pins one.
type Workflow struct {
	OrgID         uuid.UUID `gorm:"primaryKey"`
	ID            uuid.UUID `gorm:"primaryKey"`
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

// ref is what a run has to know of the version.
func (v Version) ref() validations.WorkflowRef {
	return validations.WorkflowRef{
		ID: v.ID, Slug: v.Slug, Version: v.Number, Definition: v.Definition, Digest: v.Digest, Active: v.IsActive,
	}
}
