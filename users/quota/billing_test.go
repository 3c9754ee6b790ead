package quota_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/coretest/faults"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

const billingSecret = "billing-secret"

func serveBilling(tb testing.TB) (*billing.Server, *quota.Billing) {
	tb.Helper()
	service := billing.New(billingSecret)
	listener := httptest.NewServer(service)
	tb.Cleanup(listener.Close)
	return service, quota.NewBilling(listener.URL, billingSecret)
}

func newCharge(key string) quota.Charge {
	return quota.Charge{OrgID: uuid.New(), RunID: uuid.New(), Metric: quota.MetricOverage, Key: key}
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("MakesAChargeOnceHoweverOftenItIsAskedFor", func(t *testing.T) {
		t.Parallel()
		service, client := serveBilling(t)
		charge := newCharge("sv-charge-1")
		for range 3 {
			if accepted, err := client.Charge(t.Context(), charge); err != nil || !accepted {
				t.Fatalf("charge = %t, %v, want accepted", accepted, err)
			}
		}
		charges := service.Charges()
		if len(charges) != 1 || service.Attempts() != 3 || service.Refused() != 0 {
			t.Fatalf("charges = %d of %d calls and %d refused, want 1 of 3 and 0",
				len(charges), service.Attempts(), service.Refused())
		}
		got := charges[0]
		if got.Key != charge.Key || got.OrgID != charge.OrgID.String() || got.RunID != charge.RunID.String() ||
			got.Metric != quota.MetricOverage {
			t.Errorf("charge = %+v, want %+v", got, charge)
		}
	})

	t.Run("RemembersThatItDeclined", func(t *testing.T) {
		t.Parallel()
		service, client := serveBilling(t)
		service.Script(billing.Decline)
		charge := newCharge("sv-charge-2")
		for range 2 {
			if accepted, err := client.Charge(t.Context(), charge); err != nil || accepted {
				t.Errorf("charge = %t, %v, want declined", accepted, err)
			}
		}
	})

	t.Run("RefusesAnotherChargeUnderAUsedKey", func(t *testing.T) {
		t.Parallel()
		service, client := serveBilling(t)
		if _, err := client.Charge(t.Context(), newCharge("k")); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Charge(t.Context(), newCharge("k")); err == nil || service.Refused() != 1 {
			t.Errorf("second charge: error = %v with %d refused, want an error and 1", err, service.Refused())
		}
	})

	t.Run("RefusesAnotherSecret", func(t *testing.T) {
		t.Parallel()
		service := billing.New("another")
		listener := httptest.NewServer(service)
		t.Cleanup(listener.Close)
		_, err := quota.NewBilling(listener.URL, billingSecret).Charge(t.Context(), newCharge("k"))
		if err == nil || len(service.Charges()) != 0 || service.Refused() != 1 {
			t.Errorf("error = %v with %d charges, want an error and none", err, len(service.Charges()))
		}
	})

	t.Run("HangsWhileItsHookDoes", func(t *testing.T) {
		t.Parallel()
		service, client := serveBilling(t)
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		ctx, cancel := context.WithCancel(t.Context())
		service.Watch(func(faults.Moment, billing.Charge) { cancel(); <-release })
		if _, err := client.Charge(ctx, newCharge("k")); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want canceled", err)
		}
	})
}

func TestServerFails(t *testing.T) {
	t.Parallel()
	tests := map[billing.Behavior]int{
		billing.FailBefore: 0, billing.DropBefore: 0, billing.Redirect: 0,
		billing.FailAfter: 1, billing.Garbage: 1, billing.Truncate: 1, billing.DropAfter: 1,
	}
	for behavior, wantCharges := range tests {
		t.Run(string(behavior), func(t *testing.T) {
			t.Parallel()
			service, client := serveBilling(t)
			service.Script(behavior)
			charge := newCharge("k")
			if accepted, err := client.Charge(t.Context(), charge); err == nil {
				t.Errorf("charge = %t, want an error", accepted)
			}
			if got := len(service.Charges()); got != wantCharges {
				t.Errorf("charges = %d, want %d", got, wantCharges)
			}
			if accepted, err := client.Charge(t.Context(), charge); err != nil || !accepted {
				t.Errorf("second charge = %t, %v, want accepted", accepted, err)
			}
			if got := len(service.Charges()); got != 1 {
				t.Errorf("charges in the end = %d, want 1", got)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	body := `{"org_id":"1"}`
	charge := newCharge("k")
	good := quota.Sign([]byte(billingSecret), now, charge, []byte(body))
	otherKey := quota.Charge{OrgID: charge.OrgID, RunID: charge.RunID, Key: "l"}
	otherRun := quota.Charge{OrgID: charge.OrgID, RunID: uuid.New(), Key: charge.Key}
	received := billing.Charge{Key: charge.Key, RunID: charge.RunID.String()}
	tests := map[string]struct {
		signature, body string
		at              time.Time
		valid           bool
	}{
		"AtOnce":             {good, body, now, true},
		"InTheLastMoment":    {good, body, now.Add(5 * time.Minute), true},
		"TooOld":             {good, body, now.Add(5*time.Minute + time.Second), false},
		"FromTheFuture":      {good, body, now.Add(-5*time.Minute - time.Second), false},
		"AnotherBody":        {good, body + " ", now, false},
		"AnotherTime":        {strings.Replace(good, "t=18", "t=17", 1), body, time.Unix(1_700_000_000, 0), false},
		"NoSignature":        {"", body, now, false},
		"NoSum":              {"t=" + strconv.FormatInt(now.Unix(), 10), body, now, false},
		"NoHex":              {"t=" + strconv.FormatInt(now.Unix(), 10) + ",v2=zz", body, now, false},
		"NoTime":             {"t=x,v2=00", body, now, false},
		"OfAnotherKey":       {quota.Sign([]byte(billingSecret), now, otherKey, []byte(body)), body, now, false},
		"OfAnotherRun":       {quota.Sign([]byte(billingSecret), now, otherRun, []byte(body)), body, now, false},
		"SignedByAnotherKey": {quota.Sign([]byte("x"), now, charge, []byte(body)), body, now, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := billing.Verify([]byte(billingSecret), tt.signature, received, []byte(tt.body), tt.at)
			if got := err == nil; got != tt.valid {
				t.Errorf("verify = %v, want valid %t", err, tt.valid)
			}
		})
	}
}

func TestServerRefusesWithoutSignature(t *testing.T) {
	t.Parallel()
	service := billing.New(billingSecret)
	recorder := httptest.NewRecorder()
	service.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	if recorder.Code != http.StatusUnauthorized || service.Attempts() != 0 {
		t.Errorf("status = %d after %d calls, want 401 and 0", recorder.Code, service.Attempts())
	}
}
