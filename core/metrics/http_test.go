package metrics_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// TestObserve wants as many series as there are routes, whatever clients send.
func TestObserve(t *testing.T) {
	t.Parallel()
	measured := metrics.New("1")
	e := echo.New()
	e.HTTPErrorHandler = core.HandleError(slog.New(slog.DiscardHandler), core.WriteProblem)
	e.Use(core.Observe(measured.HTTP.Observe))
	e.GET("/things/:id/", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	e.POST("/things/", func(echo.Context) error { return core.NewError(api.CodeQuotaExceeded, "") })
	e.PUT("/things/", func(echo.Context) error { return errors.New("out of order") })
	for _, request := range []string{
		"GET /things/1/", "GET /things/2/", "GET /nothing/3/", "GET /nothing/4/", "POST /things/", "PUT /things/",
		"BREW /nothing/",
	} {
		method, path, _ := strings.Cut(request, " ")
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, http.NoBody))
	}
	got := make(map[string]uint64)
	families, err := measured.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() != "sv_http_request_duration_seconds" {
				continue
			}
			var labels []string
			for _, pair := range metric.GetLabel() {
				labels = append(labels, pair.GetValue())
			}
			got[strings.Join(labels, " ")] = metric.GetHistogram().GetSampleCount()
		}
	}
	for labels, want := range map[string]uint64{
		"204 GET /things/:id/": 2, "404 GET none": 2, "404 other none": 1, "429 POST /things/": 1,
		"500 PUT /things/": 1,
	} {
		if got[labels] != want {
			t.Errorf("requests with %s = %d, want %d", labels, got[labels], want)
		}
	}
	const denials = `
		# HELP sv_quota_denials_total Requests refused because the quota of their organization is used up.
		# TYPE sv_quota_denials_total counter
		sv_quota_denials_total 1
	`
	err = testutil.GatherAndCompare(measured.Registry(), strings.NewReader(denials), "sv_quota_denials_total")
	if err != nil {
		t.Error(err)
	}
}
