package users_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users"
)

// granted lists which demands were granted.
func granted(grants []grant) []bool {
	list := make([]bool, len(grants))
	for i, grant := range grants {
		list[i] = grant.Granted
	}
	return list
}

func TestQuotaSetAtTheFirstStartOfAMonth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	org := b.org(t, "new-month", 5)
	set := make(chan error, 1)
	_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
		// The counter is opened with the old quota; the change must not slip in unseen.
		if _, err := chargeIn(t.Context(), tx, org); err != nil {
			return 0, err
		}
		go func() {
			nine := int64(9)
			set <- b.service.SetRunQuota(t.Context(), org, &nine)
		}()
		coretest.Eventually(t, func() bool {
			return one[int](t, b, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND datname = current_database()`) > 0 || len(set) > 0
		})
		return 0, nil
	})
	if err := errors.Join(err, <-set); err != nil {
		t.Fatal(err)
	}
	if quota := one[int64](t, b, `SELECT quota FROM usage_counters WHERE org_id = $1`, org); quota != 9 {
		t.Errorf("quota of the month = %d, want the 9 that was set", quota)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()

	t.Run("GrantsInTheOrderOfTheDemands", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		two, none, free := b.org(t, "two", 2), b.org(t, "none", 0), b.org(t, "free", -1)
		grants := b.charge(t, two, none, free, two, free, two, none, free)
		want := []bool{true, false, true, true, true, false, false, true}
		if diff := cmp.Diff(want, granted(grants)); diff != "" {
			t.Errorf("grants (-want +got):\n%s", diff)
		}
		used := []int64{1, 0, 1, 2, 2, 2, 0, 3}
		for i, grant := range grants {
			if grant.Usage.Used != used[i] || grant.Usage.Metric != users.MetricRuns {
				t.Errorf("usage %d = %d %s, want %d %s", i, grant.Usage.Used, grant.Usage.Metric, used[i],
					users.MetricRuns)
			}
		}
		for org, want := range map[uuid.UUID]int64{two: 2, none: 0, free: 3} {
			if got := b.used(t, org); got != want {
				t.Errorf("used = %d, want %d", got, want)
			}
		}
	})

	t.Run("ChargesManyOrganizationsAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var demands []uuid.UUID
		want := make(map[uuid.UUID]int64)
		for i := range 9 {
			org := b.org(t, fmt.Sprintf("org-%d", i), -1)
			want[org] = int64(1 + i%3)
			demands = append(demands, slices.Repeat([]uuid.UUID{org}, 1+i%3)...)
		}
		b.charge(t, demands...)
		for org, want := range want {
			if got := b.used(t, org); got != want {
				t.Errorf("used = %d, want %d", got, want)
			}
		}
	})

	t.Run("ForgetsARolledBackCharge", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		refusal := errors.New("no")
		_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (struct{}, error) {
			if _, err := chargeIn(t.Context(), tx, org); err != nil {
				return struct{}{}, err
			}
			return struct{}{}, refusal
		})
		if !errors.Is(err, refusal) {
			t.Fatalf("InTx = %v, want the refusal", err)
		}
		if grants := b.charge(t, org); !grants[0].Granted {
			t.Error("a charge that was rolled back counts")
		}
	})

	t.Run("BeginsAnewEveryMonthWithTheQuotaOfThatTime", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		b.charge(t, org)
		b.exec(t, `UPDATE usage_counters SET period_start = period_start - interval '1 month'`)
		b.exec(t, `UPDATE organizations SET run_quota = 2`)
		grants := b.charge(t, org, org, org)
		if diff := cmp.Diff([]bool{true, true, false}, granted(grants)); diff != "" {
			t.Errorf("grants of the new month (-want +got):\n%s", diff)
		}
		usage := grants[0].Usage
		month := one[time.Time](t, b, `SELECT date_trunc('month', now() AT TIME ZONE 'UTC')::date`)
		if !usage.Period.Equal(month) {
			t.Errorf("period = %s, want the month of the database's clock, %s", usage.Period, month)
		}
		if want := usage.Period.AddDate(0, 1, 0); !usage.ResetsAt().Equal(want) {
			t.Errorf("ResetsAt = %s, want %s", usage.ResetsAt(), want)
		}
		if n := one[int64](t, b, `SELECT count(*) FROM usage_counters`); n != 2 {
			t.Errorf("counters = %d, want one for each month", n)
		}
	})

	t.Run("RefusesUnknownOrganizationsAlone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		org := b.org(t, "org", 1)
		grants := b.charge(t, uuid.New(), org)
		if grants[0].Granted || !core.HasCode(grants[0].Refused, core.CodeNotAuthenticated) {
			t.Errorf("grant = %+v, want a refusal: there is no such organization", grants[0])
		}
		if got := b.used(t, org); got != 1 || !grants[1].Granted {
			t.Errorf("used = %d with %+v, want that the other one is charged", got, grants[1])
		}
	})

	t.Run("GrantsExactlyTheQuotaToManyAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		const quota, attempts = 17, 50
		org := b.org(t, "org", quota)
		var count atomic.Int64
		var clients sync.WaitGroup
		for range attempts {
			clients.Go(func() {
				grants, err := db.InTx(t.Context(), b.db, func(tx db.Tx) ([]grant, error) {
					return chargeIn(t.Context(), tx, org)
				})
				if err != nil {
					t.Errorf("charge: %v", err)
				} else if grants[0].Granted {
					count.Add(1)
				}
			})
		}
		clients.Wait()
		if got, used := count.Load(), b.used(t, org); got != quota || used != quota {
			t.Errorf("granted = %d, used = %d, want %d", got, used, quota)
		}
	})

	t.Run("DoesNotDeadlockInOppositeOrders", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		orgs := []uuid.UUID{b.org(t, "a", -1), b.org(t, "b", -1), b.org(t, "c", -1)}
		const rounds = 20
		var clients sync.WaitGroup
		for i := range 6 {
			demands := slices.Clone(orgs)
			if i%2 == 1 {
				slices.Reverse(demands)
			}
			clients.Go(func() {
				for range rounds {
					if _, err := db.InTx(t.Context(), b.db, func(tx db.Tx) ([]grant, error) {
						return chargeIn(t.Context(), tx, demands...)
					}); err != nil {
						t.Errorf("charge: %v", err)
					}
				}
			})
		}
		clients.Wait()
		for _, org := range orgs {
			if got := b.used(t, org); got != 6*rounds {
				t.Errorf("used = %d, want %d", got, 6*rounds)
			}
		}
	})
}

// At the first starts of a month one transaction opens a counter while another has begun to lock those that are open.
func TestOpeningCountersDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	orgs := []uuid.UUID{b.org(t, "a", -1), b.org(t, "b", -1), b.org(t, "c", -1)}
	slices.SortFunc(orgs, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var begun atomic.Int64
	var charging sync.WaitGroup
	charge := func(demands ...uuid.UUID) {
		charging.Go(func() {
			if _, err := db.InTx(t.Context(), b.db, func(tx db.Tx) ([]grant, error) {
				begun.Add(1)
				return chargeIn(t.Context(), tx, demands...)
			}); err != nil {
				t.Errorf("charge: %v", err)
			}
		})
	}
	awaitBlocked := func(want int) {
		coretest.Eventually(t, func() bool {
			return one[int](t, b, `SELECT count(*) FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND datname = current_database()`) == want
		})
	}
	chargeFirst := func(org uuid.UUID, meanwhile func()) {
		_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (int, error) {
			_, err := chargeIn(t.Context(), tx, org)
			meanwhile()
			return 0, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chargeFirst(orgs[1], func() {
		chargeFirst(orgs[2], func() {
			charge(orgs...) // Opens the first one, and waits for the second.
			awaitBlocked(1)
		})
		charge(orgs[0], orgs[2]) // Finds the third one open, and the first one not.
		awaitBlocked(2)
	})
	charging.Wait()
	if got := begun.Load(); got != 2 {
		t.Errorf("transactions = %d, want 2, of which none is repeated", got)
	}
	for i, want := range []int64{2, 2, 3} {
		if got := b.used(t, orgs[i]); got != want {
			t.Errorf("used = %d, want %d", got, want)
		}
	}
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
			if diff := cmp.Diff(step.want, granted(b.charge(t,
				slices.Repeat([]uuid.UUID{org}, len(step.want))...))); diff != "" {
				t.Errorf("grants (-want +got):\n%s", diff)
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
		usage, err := b.service.RunUsage(t.Context(), org)
		if err != nil || usage.Used != 3 || usage.Quota == nil || *usage.Quota != 3 {
			t.Errorf("usage = %+v, %v, want 3 of 3 in this month", usage, err)
		}
		if b.charge(t, org)[0].Granted {
			t.Error("a run beyond the lowered quota was granted")
		}
		b.exec(t, `UPDATE usage_counters SET period_start = period_start - interval '1 month'`)
		if diff := cmp.Diff([]bool{true, false}, granted(b.charge(t, org, org))); diff != "" {
			t.Errorf("grants of the next month (-want +got):\n%s", diff)
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
		if quota := one[int64](t, b, `SELECT quota FROM usage_counters`); quota != 9 {
			t.Errorf("quota of the new month = %d, want the 9 that was set", quota)
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
		if b.charge(t, other)[0].Granted {
			t.Error("the other organization's quota was raised")
		}
		coretest.WantRow(t, b.db, coretest.Row{"org_id": org.String(), "actor_id": "NULL", "detail": "9 runs a month"},
			`SELECT org_id, actor_id, detail FROM audit_records WHERE action = 'organization.set_quota'`)
	})

	t.Run("RefusesNegativeNumbers", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		err := b.service.SetRunQuota(t.Context(), b.org(t, "org", 1), number(-1))
		if !core.HasCode(err, core.CodeInvalidPayload) {
			t.Errorf("SetRunQuota(-1) = %v, want %s", err, core.CodeInvalidPayload)
		}
	})
}

func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	quota := int64(3)
	period := time.Now().UTC()
	period = time.Date(period.Year(), period.Month(), 1, 0, 0, 0, 0, time.UTC)
	err := users.QuotaExceeded(users.Usage{Period: period, Used: 3, Quota: &quota})
	if err.Code != core.CodeQuotaExceeded || err.Retryable {
		t.Errorf("error = %s, retryable %t, want %s and not", err.Code, err.Retryable, core.CodeQuotaExceeded)
	}
	if rest := time.Until(period.AddDate(0, 1, 0)); err.RetryAfter < time.Second || err.RetryAfter > rest+time.Minute {
		t.Errorf("RetryAfter = %s, want the rest of the month, %s", err.RetryAfter, rest)
	}
	past := users.QuotaExceeded(users.Usage{Period: period.AddDate(-1, 0, 0), Quota: &quota})
	if past.RetryAfter != time.Second {
		t.Errorf("RetryAfter of a month that is over = %s, want 1s", past.RetryAfter)
	}
}
