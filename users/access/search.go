package access

import (
	"context"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// Search finds an API token by its id: one of the principal's own, or any member's for an administrator.
func (s *Service) Search(ctx context.Context, principal core.Principal, text string) ([]pages.Found, error) {
	id, ok := core.ParseID(text)
	if !ok {
		return nil, nil
	}
	tokens, err := s.FindToken(ctx, principal, id)
	if err != nil {
		return nil, err
	}
	found := make([]pages.Found, len(tokens))
	for i, token := range tokens {
		found[i] = pages.Found{
			Kind: "API token", Title: token.Label, At: token.CreatedAt,
			Address: pages.Base(principal.OrgSlug) + "tokens/#" + token.ID.String(),
		}
	}
	return found, nil
}
