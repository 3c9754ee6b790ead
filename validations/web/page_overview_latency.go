package web

import (
	"fmt"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// tickBounds is the distance of the ticks on the latency axis, in bounds: each tick is ten times the one before.
const tickBounds = 3

// latency is the distribution of the latency of new starts.
type latency struct {
	Starts int64
	// Median and P95 are interpolated between the bounds of the counts.
	Median, P95 string
	Chart       pages.Bars
}

// newLatency makes the distribution from a histogram: a count for each of metrics.StartBounds, and one for the rest.
func newLatency(took []int64) latency {
	shown := latency{Chart: pages.Bars{
		Rows: "Up to", Narrow: true, Series: []pages.Series{{Name: "starts", Tone: "run"}},
	}}
	bounds := metrics.StartBounds()
	for i, count := range took {
		shown.Starts += count
		bar := pages.Bar{Label: "longer", Values: []int64{count}}
		if i < len(bounds) {
			bar.Label = shortDuration(bounds[i])
		}
		if i%tickBounds == 0 {
			bar.Tick = bar.Label
		}
		shown.Chart.Bars = append(shown.Chart.Bars, bar)
	}
	shown.Median, shown.P95 = quantile(took, shown.Starts, 0.5), quantile(took, shown.Starts, 0.95)
	shown.Chart.Label = fmt.Sprintf("Start latency, last 24 hours: %s, p50 %s, p95 %s",
		pages.Counted(shown.Starts, "new start"), shown.Median, shown.P95)
	return shown
}

// quantile returns a quantile of a histogram, interpolated linearly between two bounds. Beyond the last bound it is
// only a lower limit.
func quantile(took []int64, all int64, share float64) string {
	rank := share * float64(all)
	below, lower := 0.0, time.Duration(0)
	for i, bound := range metrics.StartBounds() {
		count := float64(took[i])
		if count > 0 && below+count >= rank {
			return pages.Took(lower + time.Duration(float64(bound-lower)*(rank-below)/count))
		}
		below, lower = below+count, bound
	}
	return "over " + shortDuration(lower)
}

// shortDuration formats a round duration for an axis.
func shortDuration(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
