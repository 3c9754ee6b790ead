package idempotency_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

func TestFormKey(t *testing.T) {
	t.Parallel()
	guard := idempotency.NewGuard(nil, 10*time.Hour, nil, discard{}, metrics.New("").Keys)
	fresh := idempotency.NewFormKey()
	madeBefore := func(age time.Duration) string {
		id := core.FirstIDAt(time.Now().Add(-age))
		id[6], id[8] = 0x70, 0x80
		return id.String()
	}
	for name, tt := range map[string]struct {
		text  string
		given bool
	}{
		"JustMade":      {fresh, true},
		"StillKnown":    {madeBefore(8 * time.Hour), true},
		"Forgotten":     {madeBefore(9*time.Hour + time.Minute), false},
		"Missing":       {"", false},
		"NoID":          {"key", false},
		"WithoutATime":  {uuid.NewString(), false},
		"OtherSpelling": {"urn:uuid:" + fresh, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := guard.FormKey(core.Principal{}, tt.text)
			if key.Given != tt.given || (err == nil) != tt.given {
				t.Fatalf("FormKey(%q) = %v, %v, want given %t", tt.text, key, err, tt.given)
			}
			if err != nil && core.AsError(err).Code != api.CodeKeyInvalid {
				t.Errorf("code = %s, want %s", core.AsError(err).Code, api.CodeKeyInvalid)
			}
		})
	}
	t.Run("OfAnOrganizationWithItsOwnLifetime", func(t *testing.T) {
		t.Parallel()
		if _, err := guard.FormKey(core.Principal{KeyLifetime: time.Hour}, madeBefore(2*time.Hour)); err == nil {
			t.Error("a form of two hours ago was taken by an organization that remembers keys for one")
		}
	})
}
