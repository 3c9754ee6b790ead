package users

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// lastUse collects the tokens that were used since the last flush, so that requests write nothing.
type lastUse struct {
	mu     sync.Mutex
	tokens map[uuid.UUID]uuid.UUID // token to organization
}

func (l *lastUse) note(orgID, tokenID uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens[tokenID] = orgID
}

func (l *lastUse) take() map[uuid.UUID]uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.tokens
	l.tokens = make(map[uuid.UUID]uuid.UUID)
	return taken
}

// FlushLastUse writes the time of last use of the tokens that were used since the last call. It returns 0, because
// nothing is left to do. A crash loses only these times.
func (s *Service) FlushLastUse(ctx context.Context) (int, error) {
	used := s.seen.take()
	if len(used) == 0 {
		return 0, nil
	}
	orgs, tokens := make([]uuid.UUID, 0, len(used)), make([]uuid.UUID, 0, len(used))
	for token, org := range used {
		orgs, tokens = append(orgs, org), append(tokens, token)
	}
	return 0, s.updateLastUse(ctx, orgs, tokens)
}
