package workflows

import (
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
)

// versionDraft is the body of a new version.
type versionDraft struct {
	Definition validations.Definition `json:"definition"`
}

// workflowBody is a workflow as clients see it.
type workflowBody struct {
	ID          uuid.UUID  `json:"id"`
	Slug        string     `json:"slug"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     int        `json:"version"`
	OrgSlug     string     `json:"org_slug"`
	IsActive    bool       `json:"is_active"`
	Accepts     []string   `json:"accepts"`
	Steps       []stepBody `json:"steps"`
	// Constants is always empty; the existing command line client expects it.
	Constants []string `json:"constants"`
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
}

type stepBody struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	ValidatorType string `json:"validator_type"`
	Order         int    `json:"order"`
}

func renderVersion(v Version, orgSlug string) workflowBody {
	steps := make([]stepBody, len(v.Definition.Steps))
	for i, step := range v.Definition.Steps {
		steps[i] = stepBody{ID: step.ID, Name: step.Name, ValidatorType: step.Type, Order: i + 1}
	}
	return workflowBody{
		ID: v.ID, Slug: v.Slug, Name: v.Name, Description: v.Description, Version: v.Number, OrgSlug: orgSlug,
		IsActive: v.IsActive, Accepts: v.Definition.Accepts, Steps: steps, Constants: []string{},
		CreatedAt: core.FormatTime(v.CreatedAt), UpdatedAt: core.FormatTime(v.UpdatedAt),
	}
}
