package quota_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

const billingSecret = "billing-secret"

func serveBilling(tb testing.TB) (*outside.Billing, *quota.Billing) {
	tb.Helper()
	service := outside.NewBilling(billingSecret)
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
		service.Script(outside.Decline)
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
		service := outside.NewBilling("another")
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
		service.Watch(func(outside.Moment, outside.Charge) { cancel(); <-release })
		if _, err := client.Charge(ctx, newCharge("k")); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want canceled", err)
		}
	})
}

func TestServerFails(t *testing.T) {
	t.Parallel()
	tests := map[outside.Behavior]int{
		outside.FailBefore: 0, outside.DropBefore: 0, outside.Redirect: 0,
		outside.FailAfter: 1, outside.Babble: 1, outside.Truncate: 1, outside.DropAfter: 1,
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

func TestServerRefusesWithoutSignature(t *testing.T) {
	t.Parallel()
	service := outside.NewBilling(billingSecret)
	recorder := httptest.NewRecorder()
	service.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	if recorder.Code != http.StatusUnauthorized || service.Attempts() != 0 {
		t.Errorf("status = %d after %d calls, want 401 and 0", recorder.Code, service.Attempts())
	}
}
