package webhooks

import (
	"time"

	"github.com/simplevalidations/simplevalidations/core/pages"
)

// attempts counts the attempts of a webhook in each of the last 24 hours, the oldest hour first.
type attempts []hourOfAttempts

type hourOfAttempts struct {
	Hour             time.Time
	Accepted, Failed int64
}

// tickHours is the distance of the ticks on the time axis.
const tickHours = 6

// Accepted is how many attempts have succeeded.
func (a attempts) Accepted() int64 { return a.Bars().Total(0) }

// Total is how many attempts there were.
func (a attempts) Total() int64 { return a.Accepted() + a.Bars().Total(1) }

// More reports whether there were more attempts than are counted.
func (a attempts) More() bool { return a.Total() >= maxCounted }

// Spark has a bar for each hour with attempts.
func (a attempts) Spark() pages.Spark {
	spark := pages.Spark{Label: a.Bars().Label}
	for _, hour := range a {
		switch {
		case hour.Failed > 0:
			spark.Tones = append(spark.Tones, "fail")
		case hour.Accepted > 0:
			spark.Tones = append(spark.Tones, "ok")
		}
	}
	return spark
}

// Bars is the chart of the hours.
func (a attempts) Bars() pages.Bars {
	chart := pages.Bars{Rows: "Hour (UTC)", Series: []pages.Series{
		{Name: "accepted", Tone: "ok"}, {Name: "failed", Tone: "fail"},
	}}
	for _, hour := range a {
		start := hour.Hour.UTC()
		bar := pages.Bar{Label: start.Format("2006-01-02 15:04"), Values: []int64{hour.Accepted, hour.Failed}}
		if start.Hour()%tickHours == 0 {
			bar.Tick = start.Format("15:04")
		}
		chart.Bars = append(chart.Bars, bar)
	}
	chart.Label = "Attempts per hour, last 24 hours: " + pages.Number(chart.Total(0)) + " accepted, " +
		pages.Number(chart.Total(1)) + " failed"
	return chart
}
