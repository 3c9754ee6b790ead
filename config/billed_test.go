package config_test

import (
	"net/http/httptest"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
)

// setupBilled serves the API with a billing service. Harbour has a quota of none there and may go beyond it.
func setupBilled(tb testing.TB) (*stage, *billing.Server) {
	tb.Helper()
	const secret = "of the billing service"
	service := billing.New(secret)
	listener := httptest.NewServer(service)
	tb.Cleanup(listener.Close)
	s := setup(tb, func(settings *config.Settings) {
		settings.BillingURL, settings.BillingSecret = config.Secret(listener.URL), secret
	})
	s.exec(tb, `UPDATE organizations SET run_quota = 0, overage_billing = true WHERE id = $1`, s.Harbour.ID)
	return s, service
}
