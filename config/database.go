package config

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Database is how the database at the address is used. A pooler is taken to be one that gives each transaction
// another session, because what works with that works with all of them.
func (s Settings) Database(address string) db.Config {
	return db.Config{
		URL: address, Pooled: s.DatabaseDirectURL != "", MaxConns: s.DBMaxConns, LockTimeout: s.DBLockTimeout,
		StatementTimeout: s.DBStatementTimeout, IdleTimeout: s.DBIdleTimeout,
	}
}

// DescribePending says what an older schema lacks.
func DescribePending(names []string) string {
	const most = 3
	listed := strings.Join(names, ", ")
	if len(names) > most {
		listed = names[0] + " to " + names[len(names)-1]
	}
	return fmt.Sprintf("the schema of the database is older than this release: %s pending, %s",
		core.Plural(len(names), "migration"), listed)
}

// OpenDirect opens the database that a pooler leads to without the pooler. It refuses a DATABASE_DIRECT_URL that leads
// elsewhere, which would be migrated in place of the right one.
func OpenDirect(ctx context.Context, settings Settings, pooled *db.DB) (*db.DB, error) {
	cfg := settings.Database(string(settings.DatabaseDirectURL))
	cfg.Pooled = false
	direct, err := db.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open DATABASE_DIRECT_URL: %w", err)
	}
	if err := refuseOther(ctx, pooled, direct); err != nil {
		return nil, errors.Join(err, direct.Close())
	}
	return direct, nil
}

func refuseOther(ctx context.Context, pooled, direct *db.DB) error {
	through, err := pooled.Identity(ctx)
	if err != nil {
		return err
	}
	straight, err := direct.Identity(ctx)
	if err != nil {
		return err
	}
	if through != straight {
		return &UsageError{Reason: "DATABASE_DIRECT_URL leads to another database than DATABASE_URL: to " + straight +
			" and not to " + through}
	}
	return nil
}
