package config

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/tracing"
	"github.com/simplevalidations/simplevalidations/migrations"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/users/factors"
	"github.com/simplevalidations/simplevalidations/validations/external"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
)

const (
	// checkTimeout bounds each check, so that a hanging server does not hang the checks.
	checkTimeout = 2 * time.Second
	// oldestPostgres is the first version of PostgreSQL that has all that the schema uses.
	oldestPostgres = 15
)

// Examination holds what is checked: the settings, the database and Redis. Nil ones are skipped.
type Examination struct {
	Settings Settings
	// Unknown are the variables of the environment that look like settings and are none.
	Unknown []string
	// Wrong is why the settings cannot be used, and Unopened why the database could not be opened.
	Wrong, Unopened error
	DB              *db.DB
	Redis           redis.UniversalClient
}

// Checks examines everything at once.
func (e Examination) Checks(ctx context.Context) []health.Check {
	all := []struct {
		id, name string
		skipped  bool
		run      func(context.Context) health.Check
	}{
		{"SV110", "database", e.DB == nil && e.Unopened == nil, e.database},
		{"SV111", "redis", e.Redis == nil, e.queue},
		{"SV112", "processes and loops", e.DB == nil, e.processes},
		{"SV113", "clock of the database", e.DB == nil, e.clock},
		{"SV114", "settings", false, e.advice},
		{"SV115", "durability", e.DB == nil, e.durability},
		{"SV116", "secret key", e.DB == nil, e.secretKey},
		{"SV117", "mail", e.Settings.SMTPURL == "", e.mail},
		{"SV118", "traces", e.Settings.OTLPEndpoint == "", e.traces},
	}
	found := make([]health.Check, len(all))
	var group sync.WaitGroup
	for i, one := range all {
		group.Go(func() {
			found[i].Outcome = health.OutcomeSkipped
			if !one.skipped {
				ctx, cancel := context.WithTimeout(ctx, checkTimeout)
				defer cancel()
				found[i] = one.run(ctx)
			}
			found[i].ID, found[i].Name = one.id, one.name
		})
	}
	group.Wait()
	return found
}

func fine(detail string) health.Check { return health.Check{Outcome: health.OutcomeOK, Detail: detail} }

func warning(detail, hint string) health.Check {
	return health.Check{Outcome: health.OutcomeWarning, Detail: detail, Hint: hint}
}

func broken(detail, hint string) health.Check {
	return health.Check{Outcome: health.OutcomeError, Detail: detail, Hint: hint}
}

func (e Examination) database(ctx context.Context) health.Check {
	if e.Unopened != nil {
		return broken(e.Unopened.Error(), DatabaseHint(e.Unopened))
	}
	var version int
	err := e.DB.Pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int / 10000`).Scan(&version)
	if err != nil {
		return broken(err.Error(), DatabaseHint(err))
	}
	if version < oldestPostgres {
		return broken(fmt.Sprintf("PostgreSQL %d is too old", version),
			fmt.Sprintf("use PostgreSQL %d or newer", oldestPostgres))
	}
	if err := e.DB.CheckWritable(ctx); err != nil {
		return broken(err.Error(), DatabaseHint(err))
	}
	pending, err := migrations.Pending(ctx, e.DB.SQL)
	if err != nil {
		return broken(err.Error(), DatabaseHint(err))
	}
	if len(pending) > 0 {
		return broken(DescribePending(pending), "run simplevalidations migrate up")
	}
	if err := e.directURL(ctx); err != nil {
		return broken(err.Error(), "correct DATABASE_DIRECT_URL: migrations need it")
	}
	return fine(fmt.Sprintf("PostgreSQL %d, schema up to date", version))
}

// directURL looks at the other way to the database, which nothing but a migration takes.
func (e Examination) directURL(ctx context.Context) error {
	if e.Settings.DatabaseDirectURL == "" {
		return nil
	}
	direct, err := OpenDirect(ctx, e.Settings, e.DB)
	if err != nil {
		return err
	}
	return direct.Close()
}

func (e Examination) queue(ctx context.Context) health.Check {
	if err := e.Redis.Ping(ctx).Err(); err != nil {
		return broken(fmt.Sprintf("ask Redis: %v", err),
			"set REDIS_URL to a Redis that answers; until then runs are accepted, but not executed")
	}
	if e.Settings.RedisURL == "" {
		return fine("inside the process")
	}
	settings, err := tasks.ReadRedisState(ctx, e.Redis)
	unwritable := tasks.CheckWritable(ctx, e.Redis)
	switch {
	case err != nil:
		return warning(err.Error(), "look at the server: it answers, but does not report its state")
	case settings.Evicts():
		return broken("maxmemory-policy is "+settings.Policy, "set maxmemory-policy to noeviction")
	case unwritable != nil:
		return broken(unwritable.Error(), redisHint(unwritable))
	case settings.CannotSave:
		return warning("it cannot save its data and may reject writes", "look at the log and the disk of the server")
	case settings.Policy == "":
		return fine("it does not report whether it evicts keys")
	}
	return fine("nothing is evicted")
}

func (e Examination) processes(ctx context.Context) health.Check {
	processes, err := tasks.Processes(ctx, e.DB, health.MaxProcesses)
	if err != nil {
		return broken(err.Error(), DatabaseHint(err))
	}
	if len(processes) == 0 {
		return warning("no process has sent a heartbeat", "start simplevalidations serve")
	}
	lines := health.Complaints(processes)
	if idle := health.Missing(processes); len(idle) > 0 {
		names := db.Column(idle, func(d *health.Duty) string { return d.Name })
		starts := db.Column(idle, func(d *health.Duty) string { return d.Start })
		slices.Sort(starts)
		starts = slices.Compact(starts)
		if len(starts) > 1 && starts[0] == health.AnyServe { // Each of the others does that, too.
			starts = starts[1:]
		}
		lines = append([]string{"no process runs: " + strings.Join(names, ", ")}, lines...)
		return broken(strings.Join(lines, "; "), "start "+strings.Join(starts, ", and "))
	}
	if len(lines) > 0 {
		return warning(strings.Join(lines, "; "), "look at the logs of these processes")
	}
	return fine(fmt.Sprintf("%d alive, and all their loops pass", len(health.Living(processes))))
}

func (e Examination) clock(ctx context.Context) health.Check {
	began := time.Now()
	var at time.Time
	if err := e.DB.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at); err != nil {
		return broken(err.Error(), DatabaseHint(err))
	}
	took := time.Since(began)
	if skew := time.Since(at).Abs(); skew > health.MaxSkew+took {
		return warning(skew.Round(time.Second).String()+" from the clock of this machine",
			"set both clocks: expiry uses the clock of the database, signatures use this one")
	}
	return fine(fmt.Sprintf("less than %v from the clock of this machine", health.MaxSkew))
}

// SealedTables are all tables with encrypted secrets.
func SealedTables() []keyring.Table {
	return append(factors.SealedTables(), external.SealedTable(), webhooks.SealedTable())
}

// CheckKeys compares the keys under which the secrets in the database are encrypted with those of the ring.
func CheckKeys(ctx context.Context, database *db.DB, ring keyring.Ring) (keyring.Use, error) {
	used := make(map[keyring.ID]int)
	for _, table := range SealedTables() {
		if err := table.Count(ctx, database, used); err != nil {
			return keyring.Use{}, err
		}
	}
	return ring.Compare(used), nil
}

// secretKey checks whether this machine's key opens the secrets in the database.
func (e Examination) secretKey(ctx context.Context) health.Check {
	if e.Settings.SecretKey == "" {
		return broken("SV_SECRET_KEY is not set",
			"give this machine the key of the others; for the first one, make it with openssl rand -base64 32")
	}
	keys, err := keyring.Parse(string(e.Settings.SecretKey))
	if err != nil {
		return broken(err.Error(), "correct SV_SECRET_KEY")
	}
	use, err := CheckKeys(ctx, e.DB, keys)
	switch {
	case err != nil:
		return broken(err.Error(), DatabaseHint(err))
	case len(use.Unknown) > 0:
		return broken(
			"secrets are encrypted under a key that SV_SECRET_KEY does not have: "+strings.Join(use.Unknown, ", "),
			"add that key to SV_SECRET_KEY, behind the new one and separated by a comma")
	case use.Outdated > 0:
		return warning(core.Plural(use.Outdated, "secret")+" encrypted under an older key",
			"run simplevalidations secrets rotate before you remove the older key from SV_SECRET_KEY")
	}
	return fine("all secrets are encrypted under the first key")
}

// mail checks whether the mail server accepts a connection and, where one is set, the user.
func (e Examination) mail(ctx context.Context) health.Check {
	sender, err := newSender(e.Settings)
	if err == nil {
		err = sender.Check(ctx)
	}
	if err != nil {
		return broken(err.Error(), "correct SV_SMTP_URL, or start the server; until then mail waits")
	}
	return fine("the mail server answers")
}

// traces checks whether the receiver of traces takes one.
func (e Examination) traces(ctx context.Context) health.Check {
	if err := tracing.Check(ctx, e.Settings.OTLPEndpoint); err != nil {
		return warning(err.Error(), "correct SV_OTLP_ENDPOINT, or start the receiver; until then traces are lost")
	}
	return fine("the receiver takes traces")
}

// durability checks the settings of PostgreSQL without which acknowledged runs can be lost.
func (e Examination) durability(ctx context.Context) health.Check {
	var off string
	err := e.DB.Pool.QueryRow(ctx, `SELECT coalesce(string_agg(name, ', ' ORDER BY name), '') FROM pg_settings
		WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'`).Scan(&off)
	if err != nil {
		return broken(err.Error(), DatabaseHint(err))
	}
	if off != "" {
		return warning("off: "+off+"; a power failure can lose acknowledged data",
			"turn it on in PostgreSQL, unless all data is for tests")
	}
	return fine("fsync, full_page_writes and synchronous_commit are on")
}
