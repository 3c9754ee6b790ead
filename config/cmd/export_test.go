package cmd

import (
	"context"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

// HeadroomWithin is what the served process keeps free of garbage collections under a limit of its memory.
func HeadroomWithin(limit int64) int64 { return headroomWithin(limit) }

// WithSecretKey returns the settings with the key of the data folder.
func WithSecretKey(s config.Settings) (config.Settings, error) { return withSecretKey(s) }

// MemoryBesides returns what a container of that memory leaves to a process with so many connections to a database.
func MemoryBesides(
	ctx context.Context, container uint64, database *db.DB, conns int32, isPrivate bool,
) (uint64, error) {
	b := &backend{db: database}
	if isPrivate {
		b.private = &embedded.Postgres{}
	}
	reserved, err := b.reservedMemory(ctx, conns)
	if err != nil {
		return 0, err
	}
	return besides(reserved, memlimit.Limit(container))()
}
