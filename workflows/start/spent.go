package start

import (
	"sync"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/users/quota"
)

// maxSpent bounds the memory of used-up quotas. An organization that is forgotten costs one commit that grants nothing.
const maxSpent = 10_000

// spent are organizations whose quota was used up when it was last read. Their starts are settled before they are
// tried, so that those who repeat a refused start do not write their document each time.
type spent struct {
	mu   sync.Mutex
	orgs map[uuid.UUID]struct{}
}

func newSpent() *spent { return &spent{orgs: make(map[uuid.UUID]struct{})} }

// learn remembers what counters say about quotas.
func (s *spent) learn(counters map[uuid.UUID]quota.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for orgID, usage := range counters {
		if usage.Room() > 0 {
			delete(s.orgs, orgID)
			continue
		}
		if len(s.orgs) >= maxSpent {
			clear(s.orgs)
		}
		s.orgs[orgID] = struct{}{}
	}
}

// split returns the attempts whose quota was used up, and the others.
func (s *spent) split(attempts []*attempt) ([]*attempt, []*attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orgs) == 0 {
		return nil, attempts
	}
	var doubtful, others []*attempt
	for _, a := range attempts {
		if _, used := s.orgs[a.run.Run.OrgID]; used && !a.run.Held {
			doubtful = append(doubtful, a)
		} else {
			others = append(others, a)
		}
	}
	return doubtful, others
}
