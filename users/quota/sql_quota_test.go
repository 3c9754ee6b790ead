package quota_test

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

func TestExceeded(t *testing.T) {
	t.Parallel()
	limit := int64(3)
	period := time.Now().UTC()
	period = time.Date(period.Year(), period.Month(), 1, 0, 0, 0, 0, time.UTC)
	err := quota.Exceeded(quota.Usage{Period: period, Used: 3, Quota: &limit})
	if err.Code != api.CodeQuotaExceeded || err.Retryable {
		t.Errorf("error = %s, retryable %t, want %s and not", err.Code, err.Retryable, api.CodeQuotaExceeded)
	}
	if rest := time.Until(period.AddDate(0, 1, 0)); err.RetryAfter < time.Second || err.RetryAfter > rest+time.Minute {
		t.Errorf("RetryAfter = %s, want the rest of the month, %s", err.RetryAfter, rest)
	}
	past := quota.Exceeded(quota.Usage{Period: period.AddDate(-1, 0, 0), Quota: &limit})
	if past.RetryAfter != time.Second {
		t.Errorf("RetryAfter of a month that is over = %s, want 1s", past.RetryAfter)
	}
}
