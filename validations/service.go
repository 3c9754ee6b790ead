package validations

import (
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// cachedDefinitions is how many definitions stay in memory.
const cachedDefinitions = 256

// Service creates, reads and purges runs. It does not execute them.
type Service struct {
	db *db.DB
	// store has large documents; nil where they are in the database.
	store      *objects.Store
	sweepAfter time.Duration
	// definitions are never invalidated, because a definition never changes under its digest.
	definitions *lru.Cache[Digest, Definition]
}

// NewService makes the service. New large documents go into the store, unless it is nil. The sweeper stages a new run
// again if no worker has taken it after sweepAfter.
func NewService(database *db.DB, store *objects.Store, sweepAfter time.Duration) (*Service, error) {
	definitions, err := lru.New[Digest, Definition](cachedDefinitions)
	if err != nil {
		return nil, fmt.Errorf("make the cache of definitions: %w", err)
	}
	return &Service{db: database, store: store, sweepAfter: sweepAfter, definitions: definitions}, nil
}
