package pages_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

func TestBarsAreStackedUpToARoundNumber(t *testing.T) {
	t.Parallel()
	chart := pages.Bars{
		Series: []pages.Series{{Name: "passed", Tone: "ok"}, {Name: "failed", Tone: "fail"}},
		Bars:   []pages.Bar{{Label: "10:00", Values: []int64{30, 11}}, {Label: "11:00", Values: []int64{0, 0}}},
	}
	// 41 does not divide well; the lines stand at 0, 50 and 100.
	var numbers []string
	for _, line := range chart.Lines() {
		numbers = append(numbers, line.Label.Text)
	}
	if diff := cmp.Diff([]string{"0", "50", "100"}, numbers); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	want := []pages.Rect{
		{X: "95", Y: "109.4", Width: "228.9", Height: "42.6", Tone: "ok", Title: "10:00: 30 passed"},
		{X: "95", Y: "93.8", Width: "228.9", Height: "15.6", Tone: "fail", Title: "10:00: 11 failed"},
	}
	if diff := cmp.Diff(want, chart.Rects()); diff != "" {
		t.Errorf("parts of the bars (-want +got):\n%s", diff)
	}
}

func TestBarsLeadToTheirRows(t *testing.T) {
	t.Parallel()
	chart := pages.Bars{
		Series: []pages.Series{{Name: "passed", Tone: "ok"}, {Name: "failed", Tone: "fail"}},
		Bars: []pages.Bar{
			{Label: "10:00", Address: "?a", Values: []int64{3000, 0}},
			{Label: "11:00", Address: "?b", Values: []int64{0, 0}},
			{Label: "12:00", Values: []int64{1, 1}},
		},
	}
	want := []pages.Hit{{Address: "?a", Rect: pages.Rect{
		X: "46", Y: "10", Width: "218", Height: "142", Title: "10:00: 3,000 passed",
	}}}
	if diff := cmp.Diff(want, chart.Hits()); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestGaugeWarnsNearItsLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		used, limit int64
		tone        string
		percent     int
	}{
		{0, 10, "ok", 0},
		{7, 10, "ok", 70},
		{8, 10, "warn", 80},
		{10, 10, "fail", 100},
		{12, 10, "fail", 100},
		{0, 0, "fail", 0},
	} {
		gauge := pages.Gauge{Used: tt.used, Limit: tt.limit}
		if gauge.Tone() != tt.tone || gauge.Percent() != tt.percent {
			t.Errorf("%d of %d: %s at %d %%, want %s at %d %%",
				tt.used, tt.limit, gauge.Tone(), gauge.Percent(), tt.tone, tt.percent)
		}
	}
}
