package chaos

import (
	"fmt"
	"strings"
	"testing"
)

func TestPurgeByManySchedulers(t *testing.T) {
	t.Parallel()
	const keys, schedulers = 25, 3
	i := install(t, "SV_IDEMPOTENCY_TTL=1s", "SV_PURGE_SCHEDULE=@every 1s")
	web := serve(t, i.settings, "--only", "web")
	c := newClient(t, i.harbour.Tokens.Executor)
	for k := range keys {
		wantCreated(t, c.start(t, web.url(), building(t, fmt.Sprintf("purged-%d", k))))
	}
	// What is not finished stays, however old it is.
	change(t, i.db, `
		UPDATE idempotency_keys SET recovery_point = 'started', response_status = NULL, response_headers = NULL,
			response_body = NULL WHERE key = 'purged-0'`)
	for range schedulers {
		launch(t, i.settings, "", "serve", "--only", "scheduler")
	}
	for range schedulers {
		launch(t, i.settings, "", "serve", "--only", "worker")
	}
	const ticks = 4
	await(t, "expired keys vanish and time goes by", func() bool {
		return count(t, i.db, "SELECT count(*) FROM idempotency_keys") == 1 &&
			count(t, i.db, "SELECT count(*) FROM job_ticks") >= ticks
	})
	if got := count(t, i.db, "SELECT sum(effect) FROM job_ticks"); got != keys-1 {
		t.Errorf("keys deleted by all ticks = %d, want each of %d once", got, keys-1)
	}
	if got := count(t, i.db, `
		SELECT count(*) - floor(extract(epoch FROM max(tick) - min(tick))) - 1 FROM job_ticks`); got > 0 {
		t.Errorf("ticks beyond one a second = %d, want 0", got)
	}
	if got := count(t, i.db, "SELECT count(*) FROM job_ticks WHERE tick <> date_trunc('second', tick)"); got != 0 {
		t.Errorf("ticks between the seconds = %d, want 0", got)
	}
	// Runs outlive their keys.
	awaitRest(t, i.db)
	if got := count(t, i.db, "SELECT count(*) FROM validation_runs"); got != keys {
		t.Errorf("runs = %d, want %d", got, keys)
	}
}

func TestExpiredKeyIsNew(t *testing.T) {
	t.Parallel()
	i := install(t, "SV_IDEMPOTENCY_TTL=1s")
	s := serve(t, i.settings)
	c := newClient(t, i.harbour.Tokens.Executor)
	o := building(t, "expired")
	first := c.start(t, s.url(), o)
	wantCreated(t, first)
	await(t, "the key expires", func() bool {
		return count(t, i.db, "SELECT count(*) FROM idempotency_keys WHERE expires_at <= now()") == 1
	})
	// Nothing of the first use remains, not even which document it was for.
	o.workflow, o.mediaType, o.body = "meter-readings", "text/csv", sample(t, "good/meter-readings.csv")
	second := c.start(t, s.url(), o)
	wantCreated(t, second)
	if second.run(t) == first.run(t) {
		t.Errorf("run = %s again, want a new one", second.run(t))
	}
	if got := count(t, i.db, "SELECT count(*) FROM idempotency_keys"); got != 1 {
		t.Errorf("keys = %d, want 1", got)
	}
	awaitRest(t, i.db)
	checkInvariants(t, i.db)
}

func TestPurgeCommand(t *testing.T) {
	t.Parallel()
	const expired, kept = 3, 2
	i := install(t)
	s := serve(t, i.settings)
	c := newClient(t, i.harbour.Tokens.Executor)
	for k := range expired + kept {
		wantCreated(t, c.start(t, s.url(), building(t, fmt.Sprintf("key-%d", k))))
	}
	change(t, i.db, `
		UPDATE idempotency_keys SET created_at = now() - interval '2 days', expires_at = now() - interval '1 day'
		WHERE key IN ('key-0', 'key-1', 'key-2')`)
	for _, step := range []struct {
		args []string
		says string
		left int
	}{
		{[]string{"--dry-run"}, "3 expired keys", expired + kept},
		{nil, "3 expired keys", kept},
		{nil, "0 expired keys", kept},
	} {
		said := execute(t, i.settings, "", append([]string{"idempotency", "purge"}, step.args...)...)
		if !strings.Contains(said, step.says) {
			t.Errorf("purge %v said %q, want %q", step.args, said, step.says)
		}
		if got := count(t, i.db, "SELECT count(*) FROM idempotency_keys"); got != step.left {
			t.Errorf("keys after purge %v = %d, want %d", step.args, got, step.left)
		}
	}
	awaitRest(t, i.db)
	checkInvariants(t, i.db)
}
