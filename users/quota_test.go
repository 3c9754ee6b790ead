package users_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

func TestQuotaSetAtTheFirstStartOfAMonth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "new-month", 5)
	opened := make(chan error, 1)
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		// The counter must not be opened with the old quota while the operator sets a new one.
		if _, err := tx.Exec(t.Context(), `UPDATE organizations SET run_quota = 9 WHERE id = $1`, org); err != nil {
			return 0, err
		}
		go func() {
			_, err := quota.OpenCounters(t.Context(), b.db, []uuid.UUID{org})
			opened <- err
		}()
		coretest.Eventually(t, func() bool {
			return one[int](t, b, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0 || len(opened) > 0
		})
		return 0, nil
	})
	if err := errors.Join(err, <-opened); err != nil {
		t.Fatal(err)
	}
	if got := one[int64](t, b, `SELECT quota FROM usage_counters WHERE org_id = $1`, org); got != 9 {
		t.Errorf("quota of the month = %d, want the 9 that was set", got)
	}
}

func TestCharges(t *testing.T) {
	t.Parallel()

	t.Run("WhereThereIsRoomForAll", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		two, none, free := b.org(t, "two", 2), b.org(t, "none", 0), b.org(t, "free", -1)
		got := b.charge(t, two, none, free, two, free)
		if diff := cmp.Diff([]bool{true, false, true, true, true}, got); diff != "" {
			t.Errorf("granted (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{false, true}, b.charge(t, two, free)); diff != "" {
			t.Errorf("granted beyond the quota (-want +got):\n%s", diff)
		}
		for org, want := range map[uuid.UUID]int64{two: 2, none: 0, free: 3} {
			if got := b.used(t, org); got != want {
				t.Errorf("used = %d, want %d", got, want)
			}
		}
	})

	t.Run("AllOfAnOrganizationOrNone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 2)
		if diff := cmp.Diff([]bool{false, false, false}, b.charge(t, org, org, org)); diff != "" {
			t.Errorf("granted (-want +got):\n%s", diff)
		}
		if got := b.used(t, org); got != 0 {
			t.Errorf("used = %d, want nothing", got)
		}
	})

	t.Run("OfManyOrganizationsInThisMonthAlone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var orgs []uuid.UUID
		want := make(map[uuid.UUID]int64)
		for i := range 9 {
			org := b.org(t, fmt.Sprintf("org-%d", i), -1)
			want[org] = int64(1 + i%3)
			orgs = append(orgs, slices.Repeat([]uuid.UUID{org}, 1+i%3)...)
		}
		b.charge(t, orgs...)
		b.exec(t, `UPDATE usage_counters SET period_start = period_start - interval '1 month'`)
		b.charge(t, orgs...)
		for org, want := range want {
			for name, period := range map[string]string{"last": "< ", "this": "= "} {
				if got := one[int64](t, b, `SELECT used FROM usage_counters WHERE org_id = $1 AND period_start `+period+
					`date_trunc('month', now() AT TIME ZONE 'UTC')::date`, org); got != want {
					t.Errorf("used in %s month = %d, want %d", name, got, want)
				}
			}
		}
	})

	t.Run("InTheMonthOfTheDatabasesClock", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", -1)
		coretest.StopClock(t, b.db, 40*24*time.Hour)
		b.charge(t, org)
		if !one[bool](t, b, `SELECT period_start = date_trunc('month', now() AT TIME ZONE 'UTC')
			FROM usage_counters WHERE org_id = $1 AND used = 1`, org) {
			t.Error("the start was counted in the month of this process's clock")
		}
	})

	t.Run("NotWithoutACounter", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		granted, err := db.InTx(t.Context(), b.db, func(tx db.Tx) ([]bool, error) {
			return chargeIn(t.Context(), tx, b.org(t, "org", 1), uuid.New())
		})
		if diff := cmp.Diff([]bool{false, false}, granted); diff != "" || err != nil {
			t.Errorf("granted (-want +got):\n%s, %v", diff, err)
		}
	})

	t.Run("NotEvenLaterWhereTheOrganizationHasMoved", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		stays, moves := b.org(t, "stays", -1), b.org(t, "moves", -1)
		b.charge(t, stays, moves)
		b.exec(t, "UPDATE organizations SET moved_to = 'b' WHERE id = $1", moves)
		b.exec(t, "DELETE FROM usage_counters WHERE org_id = $1", moves)
		if _, err := quota.OpenCounters(t.Context(), b.db, []uuid.UUID{stays, moves}); err != nil {
			t.Fatal(err)
		}
		charges := []quota.RunCharge{
			{RunID: uuid.New(), OrgID: stays, Held: true}, {RunID: uuid.New(), OrgID: moves, Held: true},
		}
		granted, err := db.InBatch(t.Context(), b.db, func(batch *db.Batch) *db.Future[[]uuid.UUID] {
			db.Grant(batch, []uuid.UUID{charges[0].RunID, charges[1].RunID})
			return quota.QueueCharges(batch, charges)
		})
		if err != nil {
			t.Fatal(err)
		}
		if left, err := granted.Get(); err != nil || !slices.Equal(left, []uuid.UUID{charges[0].RunID}) {
			t.Errorf("granted = %v, %v, want only the run of the organization that stays", left, err)
		}
	})

	t.Run("OnlyWhatIsGranted", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", -1)
		b.charge(t, org)
		granted, err := db.InBatch(t.Context(), b.db, func(batch *db.Batch) *db.Future[[]uuid.UUID] {
			db.Grant(batch, nil)
			return quota.QueueCharges(batch, []quota.RunCharge{{RunID: uuid.New(), OrgID: org}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if left, err := granted.Get(); len(left) > 0 || err != nil || b.used(t, org) != 1 {
			t.Errorf("granted = %v, %v with %d used, want nothing and 1", left, err, b.used(t, org))
		}
	})

	t.Run("BeginAnewEveryMonthWithTheQuotaOfThatTime", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		b.charge(t, org)
		b.exec(t, `UPDATE usage_counters SET period_start = period_start - interval '1 month'`)
		b.exec(t, `UPDATE organizations SET run_quota = 2`)
		if got := []bool{b.charge(t, org)[0], b.charge(t, org)[0], b.charge(t, org)[0]}; !slices.Equal(got,
			[]bool{true, true, false}) {
			t.Errorf("granted in the new month = %v, want 2 of 3", got)
		}
		counters, err := quota.OpenCounters(t.Context(), b.db, []uuid.UUID{org})
		if err != nil {
			t.Fatal(err)
		}
		usage := counters[org]
		month := one[time.Time](t, b, `SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date`)
		if !usage.Period.Equal(month) || !usage.ResetsAt().Equal(month.AddDate(0, 1, 0)) || usage.Used != 2 {
			t.Errorf("usage = %+v, want 2 of the month of the database's clock, %s", usage, month)
		}
	})

	t.Run("GrantExactlyTheQuotaToManyAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		const limit, attempts = 17, 50
		org := b.org(t, "org", limit)
		b.charge(t, org)
		var count atomic.Int64
		var clients sync.WaitGroup
		for range attempts {
			clients.Go(func() {
				if b.charge(t, org)[0] {
					count.Add(1)
				}
			})
		}
		clients.Wait()
		if got, used := count.Load(), b.used(t, org); got != limit-1 || used != limit {
			t.Errorf("granted = %d, used = %d, want %d beside the first", got, used, limit-1)
		}
	})

	t.Run("DoNotDeadlockInOppositeOrders", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		orgs := []uuid.UUID{b.org(t, "a", -1), b.org(t, "b", -1), b.org(t, "c", -1)}
		const rounds = 20
		var clients sync.WaitGroup
		var begun atomic.Int64
		for i := range 6 {
			demands := slices.Clone(orgs)
			if i%2 == 1 {
				slices.Reverse(demands)
			}
			clients.Go(func() {
				for range rounds {
					if _, err := quota.OpenCounters(t.Context(), b.db, demands); err != nil {
						t.Errorf("open: %v", err)
					}
					if _, err := db.InTx(t.Context(), b.db, func(tx db.Tx) ([]bool, error) {
						begun.Add(1)
						return chargeIn(t.Context(), tx, demands...)
					}); err != nil {
						t.Errorf("charge: %v", err)
					}
				}
			})
		}
		clients.Wait()
		if got := begun.Load(); got != 6*rounds {
			t.Errorf("transactions = %d, want %d, of which none is repeated", got, 6*rounds)
		}
		for _, org := range orgs {
			if got := b.used(t, org); got != 6*rounds {
				t.Errorf("used = %d, want %d", got, 6*rounds)
			}
		}
	})
}

func (b *testBundle) used(tb testing.TB, org uuid.UUID) int64 {
	tb.Helper()
	return one[int64](tb, b, `SELECT coalesce(sum(used), 0)::bigint FROM usage_counters WHERE org_id = $1`, org)
}

func TestUsageCounterIsGuardedByTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.charge(t, b.org(t, "org", 1))
	for statement, constraint := range map[string]string{
		`UPDATE usage_counters SET used = 2`:                      "ck_usage_counters_within_quota",
		`UPDATE usage_counters SET quota = 0`:                     "ck_usage_counters_within_quota",
		`UPDATE usage_counters SET used = -1`:                     "ck_usage_counters_used",
		`UPDATE usage_counters SET period_start = period_start+1`: "ck_usage_counters_period",
		`UPDATE organizations SET run_quota = -1`:                 "ck_organizations_run_quota",
	} {
		_, err := b.db.Pool.Exec(t.Context(), statement)
		if got := db.ViolatedConstraint(err); got != constraint {
			t.Errorf("%s = %v, want a violation of %s", statement, err, constraint)
		}
	}
}

func TestSetRunQuota(t *testing.T) {
	t.Parallel()
	number := func(n int64) *int64 { return &n }

	t.Run("TakesEffectAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		b.charge(t, org)
		for _, step := range []struct {
			quota *int64
			want  []bool
		}{
			{number(3), []bool{true, true, false}},
			{nil, []bool{true, true, true}},
			{number(7), []bool{true, false}},
		} {
			if err := b.service.SetRunQuota(t.Context(), org, step.quota); err != nil {
				t.Fatal(err)
			}
			for i, want := range step.want {
				if got := b.charge(t, org)[0]; got != want {
					t.Errorf("run %d granted = %t, want %t", i, got, want)
				}
			}
		}
	})

	t.Run("NeverTakesBackWhatIsUsed", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", -1)
		b.charge(t, org, org, org)
		if err := b.service.SetRunQuota(t.Context(), org, number(1)); err != nil {
			t.Fatal(err)
		}
		usage, err := b.service.Quota.RunUsage(t.Context(), org)
		if err != nil || usage.Used != 3 || usage.Quota == nil || *usage.Quota != 3 {
			t.Errorf("usage = %+v, %v, want 3 of 3 in this month", usage, err)
		}
		if b.charge(t, org)[0] {
			t.Error("a run beyond the lowered quota was granted")
		}
		b.exec(t, `UPDATE usage_counters SET period_start = period_start - interval '1 month'`)
		if !b.charge(t, org)[0] || b.charge(t, org)[0] {
			t.Error("the next month does not grant the lowered quota")
		}
	})

	t.Run("HoldsAlsoForAMonthThatBeginsMeanwhile", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		b.charge(t, org)
		// To a transaction that began before midnight, the counter of the new month is one of the future.
		b.exec(t, `UPDATE usage_counters SET period_start = period_start + interval '1 month'`)
		if err := b.service.SetRunQuota(t.Context(), org, number(9)); err != nil {
			t.Fatal(err)
		}
		if got := one[int64](t, b, `SELECT quota FROM usage_counters`); got != 9 {
			t.Errorf("quota of the new month = %d, want the 9 that was set", got)
		}
	})

	t.Run("LeavesARecordAndOtherOrganizationsAlone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org, other := b.org(t, "org", 1), b.org(t, "other", 1)
		b.charge(t, org, other)
		if err := b.service.SetRunQuota(t.Context(), org, number(9)); err != nil {
			t.Fatal(err)
		}
		if b.charge(t, other)[0] {
			t.Error("the other organization's quota was raised")
		}
		coretest.WantRow(t, b.db, coretest.Row{"org_id": org.String(), "actor_id": "NULL", "detail": "9 runs a month"},
			`SELECT org_id, actor_id, detail FROM audit_records WHERE action = 'organization.set_quota'`)
	})

	t.Run("RefusesNegativeNumbers", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		err := b.service.SetRunQuota(t.Context(), b.org(t, "org", 1), number(-1))
		if !errors.Is(err, api.CodeInvalidPayload) {
			t.Errorf("SetRunQuota(-1) = %v, want %s", err, api.CodeInvalidPayload)
		}
	})
}
