package pages_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	for period, want := range map[string]time.Time{
		"1h": now.Add(-time.Hour), "24h": now.Add(-24 * time.Hour), "7d": now.Add(-7 * 24 * time.Hour),
		"30d": now.Add(-30 * 24 * time.Hour), "today": day,
		"month": time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC),
	} {
		query := pages.PeriodQuery{Period: period}
		since, until := "2020-01-01", "2030-01-01 10:30"
		if err := query.ReadTimes(&since, &until); err != nil {
			t.Fatal(err)
		}
		got, err := time.Parse(time.RFC3339, since)
		// The clock goes on in between, also over the end of a day or of a month.
		if off := got.Sub(want); err != nil || off < -time.Second || off > time.Minute && !got.After(now) {
			t.Errorf("%s begins at %s, want %s", period, since, want)
		}
		values := url.Values{}
		query.Values(values, since, until)
		want := url.Values{"period": {period}, "until": {"2030-01-01T10:30:00Z"}}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("query of %s (-want +got):\n%s", period, diff)
		}
		span := query.Span("Started", since, until)
		if span.Since != "" || span.Until != "2030-01-01 10:30" || pages.Chosen(span.Periods) == "" {
			t.Errorf("form of %s = %+v, want the period instead of its begin", period, span)
		}
	}
}

func TestTimesWithoutAPeriod(t *testing.T) {
	t.Parallel()
	var query pages.PeriodQuery
	since, until := " 2026-03-01 ", ""
	if err := query.ReadTimes(&since, &until); err != nil || since != "2026-03-01T00:00:00Z" || until != "" {
		t.Errorf("times = %q and %q, %v, want the day alone", since, until, err)
	}
	values := url.Values{"q": {"a"}}
	query.Values(values, since, until)
	want := []pages.Chip{{Text: "Since: 2026-03-01 00:00", Address: "?q=a"}}
	if diff := cmp.Diff(want, pages.Chips(values, query.Span("Started", since, until).Filters())); diff != "" {
		t.Errorf("chips (-want +got):\n%s", diff)
	}
	since = "tomorrow"
	if err := query.ReadTimes(&since, &until); err == nil {
		t.Error("read a time that is none")
	}
}
