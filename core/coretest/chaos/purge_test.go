package chaos

import (
	"fmt"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestPurgeByManySchedulers(t *testing.T) {
	t.Parallel()
	const keys, schedulers = 25, 3
	i := program.Install(t, "SV_IDEMPOTENCY_TTL=1s", "SV_PURGE_SCHEDULE=@every 1s")
	web := program.Serve(t, i.Settings, "--only", "web")
	c := program.NewClient(t, i.Harbour.Tokens.Executor)
	for k := range keys {
		program.WantCreated(t, c.Start(t, web.URL(), program.Building(t, fmt.Sprintf("purged-%d", k))))
	}
	// What is not finished stays, however old it is.
	program.Change(t, i.DB, `
		UPDATE idempotency_keys SET recovery_point = 'started', response_status = NULL, response_headers = NULL,
			response_body = NULL WHERE key = 'purged-0'`)
	for range schedulers {
		program.Launch(t, i.Settings, "", "serve", "--only", "scheduler")
	}
	for range schedulers {
		program.Launch(t, i.Settings, "", "serve", "--only", "worker")
	}
	const ticks = 4
	const ofKeys = " FROM job_ticks WHERE job = 'idempotency.purge'"
	program.Await(t, "expired keys vanish and time goes by", func() bool {
		return program.Count(t, i.DB, "SELECT count(*) FROM idempotency_keys") == 1 &&
			program.Count(t, i.DB, "SELECT count(*)"+ofKeys) >= ticks &&
			program.Count(t, i.DB, "SELECT coalesce(sum(effect), 0)"+ofKeys) >= keys-1
	})
	if got := program.Count(t, i.DB, "SELECT coalesce(sum(effect), 0)"+ofKeys); got != keys-1 {
		t.Errorf("keys deleted by all ticks = %d, want each of %d once", got, keys-1)
	}
	if got := program.Count(t, i.DB, `
		SELECT count(*) - floor(extract(epoch FROM max(tick) - min(tick))) - 1`+ofKeys); got > 0 {
		t.Errorf("ticks beyond one a second = %d, want 0", got)
	}
	if got := program.Count(t, i.DB, `
		SELECT count(*) FROM job_ticks WHERE tick <> date_trunc('second', tick)`); got != 0 {
		t.Errorf("ticks between the seconds = %d, want 0", got)
	}
	// Runs outlive their keys.
	program.AwaitRest(t, i.DB)
	if got := program.Count(t, i.DB, "SELECT count(*) FROM validation_runs"); got != keys {
		t.Errorf("runs = %d, want %d", got, keys)
	}
}
