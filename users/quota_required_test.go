package users_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users"
)

func TestRequiredCharges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	period := users.PeriodOf(one[time.Time](t, b, `SELECT now()`))
	charge := func(period time.Time, charges ...users.RunCharge) error {
		_, err := db.InBatch(t.Context(), b.db, func(batch *db.Batch) struct{} {
			users.QueueRequiredCharges(batch, period, charges)
			return struct{}{}
		})
		return err
	}
	// opened returns an organization whose counter of the period is open, with one run used.
	opened := func(t *testing.T, name string, quota int64) uuid.UUID {
		t.Helper()
		org := b.org(t, name, quota)
		b.charge(t, org)
		return org
	}
	check := func(t *testing.T, org uuid.UUID, want int64) {
		t.Helper()
		if got := b.used(t, org); got != want {
			t.Errorf("used = %d, want %d", got, want)
		}
	}

	t.Run("UpToTheQuota", func(t *testing.T) {
		t.Parallel()
		org := opened(t, "required-some", 4)
		if err := charge(period, users.RunCharge{OrgID: org, Runs: 3}); err != nil {
			t.Fatal(err)
		}
		if err := charge(period, users.RunCharge{OrgID: org, Runs: 1}); !db.IsUnmet(err) {
			t.Errorf("beyond the quota: %v, want an unmet requirement", err)
		}
		check(t, org, 4)
	})

	t.Run("WithoutAQuota", func(t *testing.T) {
		t.Parallel()
		org := opened(t, "required-free", -1)
		if err := charge(period, users.RunCharge{OrgID: org, Runs: 3}); err != nil {
			t.Fatal(err)
		}
		check(t, org, 4)
	})

	t.Run("NotWithoutACounter", func(t *testing.T) {
		t.Parallel()
		if err := charge(period, users.RunCharge{OrgID: b.org(t, "required-new", 9), Runs: 1}); !db.IsUnmet(err) {
			t.Errorf("err = %v, want an unmet requirement", err)
		}
	})

	t.Run("NotInAnotherPeriod", func(t *testing.T) {
		t.Parallel()
		org := opened(t, "required-late", 9)
		last := period.AddDate(0, -1, 0)
		b.exec(t, `INSERT INTO usage_counters (org_id, metric, period_start, used, quota) VALUES ($1, $2, $3, 0, 9)`,
			org, users.MetricRuns, last)
		if err := charge(last, users.RunCharge{OrgID: org, Runs: 1}); !db.IsUnmet(err) {
			t.Errorf("err = %v, want an unmet requirement", err)
		}
	})

	t.Run("OfManyOrganizationsOrNone", func(t *testing.T) {
		t.Parallel()
		var charges []users.RunCharge
		for i := range 6 {
			org := opened(t, fmt.Sprintf("required-%d", i), 3)
			charges = append(charges, users.RunCharge{OrgID: org, Runs: 1})
		}
		if err := charge(period, charges...); err != nil {
			t.Fatal(err)
		}
		last := charges[len(charges)-1]
		if err := charge(period, last); err != nil {
			t.Fatal(err)
		}
		if err := charge(period, charges...); !db.IsUnmet(err) {
			t.Errorf("beyond one's quota: %v, want an unmet requirement", err)
		}
		for _, c := range charges {
			check(t, c.OrgID, map[bool]int64{false: 2, true: 3}[c == last])
		}
		if err := charge(period.AddDate(0, 1, 0), charges[:5]...); !db.IsUnmet(err) {
			t.Errorf("in another period: %v, want an unmet requirement", err)
		}
	})

	t.Run("NeverTooManyAtOnce", func(t *testing.T) {
		t.Parallel()
		org := opened(t, "required-race", 6)
		var granted atomic.Int64
		var racing sync.WaitGroup
		for range 20 {
			racing.Go(func() {
				switch err := charge(period, users.RunCharge{OrgID: org, Runs: 1}); {
				case err == nil:
					granted.Add(1)
				case !db.IsUnmet(err):
					t.Error(err)
				}
			})
		}
		racing.Wait()
		if granted.Load() != 5 {
			t.Errorf("%d charges were granted, want 5", granted.Load())
		}
		check(t, org, 6)
	})
}
