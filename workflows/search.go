package workflows

import (
	"context"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Search finds a workflow by its id or its slug.
func (s *Service) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	workflow, err := s.Find(ctx, principal.OrgID, text, 0)
	if core.HasCode(err, core.CodeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []pages.Found{{
		Kind: "workflow", Title: workflow.Slug, At: workflow.CreatedAt,
		Address: pages.Base(principal.OrgSlug) + "workflows/" + workflow.Slug + "/",
	}}, nil
}
