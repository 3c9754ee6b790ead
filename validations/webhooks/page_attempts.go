package webhooks

import "github.com/simplevalidations/simplevalidations/core/pages"

// attempts are those of a webhook in each of the last 24 hours, the oldest hour first: accepted ones, and failed ones.
type attempts []pages.Bar

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
		case hour.Values[1] > 0:
			spark.Tones = append(spark.Tones, "fail")
		case hour.Values[0] > 0:
			spark.Tones = append(spark.Tones, "ok")
		}
	}
	return spark
}

// Bars is the chart of the hours.
func (a attempts) Bars() pages.Bars {
	chart := pages.Bars{Rows: "Hour (UTC)", Bars: a, Series: []pages.Series{
		{Name: "accepted", Tone: "ok"}, {Name: "failed", Tone: "fail"},
	}}
	chart.Label = "Attempts per hour, last 24 hours: " + pages.Number(chart.Total(0)) + " accepted, " +
		pages.Number(chart.Total(1)) + " failed"
	return chart
}
