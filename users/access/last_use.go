package access

import (
	"context"
	"maps"

	"github.com/google/uuid"
)

// usedTokens are the tokens that were used since the last flush, each with its organization.
type usedTokens map[uuid.UUID]uuid.UUID

func newUsedTokens() usedTokens { return usedTokens{} }

// Empty reports whether no token was used.
func (t usedTokens) Empty() bool { return len(t) == 0 }

// Restore adds tokens whose use was not written.
func (t usedTokens) Restore(taken usedTokens) { maps.Copy(t, taken) }

// FlushLastUse writes the time of last use of the tokens that were used since the last call (flush.Collector).
func (s *Service) FlushLastUse(ctx context.Context) (int, error) {
	return s.used.Flush(ctx, s.updateLastUse)
}
