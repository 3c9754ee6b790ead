package workflows

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// firstWorkflows is among how many workflows one is looked for that can be run.
const firstWorkflows = 20

// FirstStart is a command that starts a run of one of the organization's workflows at the service with the address,
// with a key of its own. It is "" where none of the newest workflows can be run.
func (s *Service) FirstStart(ctx context.Context, orgID uuid.UUID, address string) (string, error) {
	versions, err := s.list(ctx, orgID, core.Cursor{Size: firstWorkflows})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(versions, func(v Version) bool { return v.IsActive && len(v.Definition.Steps) > 0 })
	if i < 0 {
		return "", nil
	}
	snippets, err := snippetsOf(versions[i], address)
	if err != nil {
		return "", err
	}
	return snippets[0].Text, nil
}
