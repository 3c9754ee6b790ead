package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bars is a chart of stacked bars over time. Its numbers stand in a table below it, where each bar leads to its rows.
type Bars struct {
	// Label says in a sentence what the chart shows, for those who do not see it.
	Label string
	// Rows names the first column of the table, like "Hour".
	Rows string
	// Series are stacked from the bottom to the top.
	Series []Series
	Bars   []Bar
	// Limit is drawn as a line; 0 is none.
	Limit int64
	// Narrow is a chart that has half a page, so that its labels do not shrink with it.
	Narrow bool
}

// Series is one part of every bar.
type Series struct {
	Name string
	// Tone is the part's color: ok, warn, fail, replay, run or idle.
	Tone string
}

// Bar is one place on the time axis.
type Bar struct {
	// Label names the place in the table, and Tick on the axis; most bars have no tick.
	Label, Tick string
	// Address leads to the rows that were counted; "" where there is no list of them.
	Address string
	// Values has one count for each series.
	Values []int64
}

// tickHours is the distance of the ticks on an axis of hours.
const tickHours = 6

// HourBar is the bar of an hour.
func HourBar(hour time.Time, values ...int64) Bar {
	start := hour.UTC()
	bar := Bar{Label: start.Format("2006-01-02 15:04"), Values: values}
	if start.Hour()%tickHours == 0 {
		bar.Tick = start.Format("15:04")
	}
	return bar
}

// The size of a chart in its own units; a page shows it as wide as there is room.
const (
	chartWidth  = 720.0
	narrowWidth = 400.0
	chartHeight = 176.0
	chartLeft   = 46.0
	chartRight  = 20.0
	chartTop    = 10.0
	chartBottom = 24.0
	barShare    = 0.7
	gridLines   = 2
)

// Rect is a part of a bar as it is drawn.
type Rect struct {
	X, Y, Width, Height string
	Tone                string
	Title               string
}

// Text is a label as it is drawn.
type Text struct {
	X, Y, Text string
}

// Grid is a horizontal line with its number.
type Grid struct {
	Y     string
	Label Text
}

// Box is the chart's view box.
func (b Bars) Box() string {
	return fmt.Sprintf("0 0 %.0f %.0f", b.width(), chartHeight)
}

// Right is where the lines end.
func (b Bars) Right() string { return place(b.width() - chartRight) }

// Left is where the lines begin.
func (b Bars) Left() string { return place(chartLeft) }

// top is the number at the upper edge: where the highest bar ends, rounded up to what divides well.
func (b Bars) top() int64 {
	highest := b.Limit
	for _, bar := range b.Bars {
		highest = max(highest, bar.Total())
	}
	for magnitude := int64(1); ; magnitude *= 10 {
		for _, digit := range []int64{1, 2, 5} {
			if top := gridLines * digit * magnitude; top >= highest {
				return top
			}
		}
	}
}

// Total is the height of the bar.
func (b Bar) Total() int64 {
	total := int64(0)
	for _, value := range b.Values {
		total += value
	}
	return total
}

// Empty reports whether there is nothing to draw.
func (b Bars) Empty() bool {
	return !slices.ContainsFunc(b.Bars, func(bar Bar) bool { return bar.Total() > 0 })
}

// Total is the sum over a series.
func (b Bars) Total(series int) int64 {
	total := int64(0)
	for _, bar := range b.Bars {
		total += bar.Values[series]
	}
	return total
}

func (b Bars) width() float64 {
	if b.Narrow {
		return narrowWidth
	}
	return chartWidth
}

func (b Bars) height(value int64) float64 {
	return float64(value) / float64(b.top()) * (chartHeight - chartTop - chartBottom)
}

func (b Bars) slot() float64 {
	return (b.width() - chartLeft - chartRight) / float64(max(len(b.Bars), 1))
}

// Rects are the parts of all bars.
func (b Bars) Rects() []Rect {
	var rects []Rect
	for i, bar := range b.Bars {
		y := chartHeight - chartBottom
		for j, value := range bar.Values {
			if value == 0 {
				continue
			}
			y -= b.height(value)
			rects = append(rects, Rect{
				X: place(chartLeft + (float64(i)+(1-barShare)/2)*b.slot()), Y: place(y),
				Width: place(b.slot() * barShare), Height: place(b.height(value)), Tone: b.Series[j].Tone,
				Title: fmt.Sprintf("%s: %s %s", bar.Label, Number(value), b.Series[j].Name),
			})
		}
	}
	return rects
}

// Hit is the area above a place on the time axis. It shows the values of the bar and leads to its rows.
type Hit struct {
	Rect

	Address string
}

// Hits are the areas of the bars that lead somewhere, and of those alone that have something to show.
func (b Bars) Hits() []Hit {
	var hits []Hit
	for i, bar := range b.Bars {
		if bar.Address == "" || bar.Total() == 0 {
			continue
		}
		parts := make([]string, 0, len(bar.Values))
		for j, value := range bar.Values {
			if value > 0 {
				parts = append(parts, Number(value)+" "+b.Series[j].Name)
			}
		}
		hits = append(hits, Hit{Address: bar.Address, Rect: Rect{
			X: place(chartLeft + float64(i)*b.slot()), Y: place(chartTop), Width: place(b.slot()),
			Height: place(chartHeight - chartTop - chartBottom), Title: bar.Label + ": " + strings.Join(parts, ", "),
		}})
	}
	return hits
}

// Ticks are the labels of the time axis.
func (b Bars) Ticks() []Text {
	var ticks []Text
	for i, bar := range b.Bars {
		if bar.Tick != "" {
			ticks = append(ticks, Text{
				X: place(chartLeft + (float64(i)+0.5)*b.slot()), Y: place(chartHeight - 6), Text: bar.Tick,
			})
		}
	}
	return ticks
}

// Lines are the lines behind the bars, with their numbers.
func (b Bars) Lines() []Grid {
	lines := make([]Grid, gridLines+1)
	for i := range lines {
		value := b.top() / gridLines * int64(i)
		lines[i] = b.line(value)
	}
	return lines
}

// short writes a number so that it fits beside a chart; those of charts are round.
func short(n int64) string {
	switch {
	case n >= 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1_000_000), ".0") + "M"
	case n >= 1_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1_000), ".0") + "k"
	default:
		return Number(n)
	}
}

// LimitLine is the line of the limit.
func (b Bars) LimitLine() Grid { return b.line(b.Limit) }

func (b Bars) line(value int64) Grid {
	y := chartHeight - chartBottom - b.height(value)
	return Grid{Y: place(y), Label: Text{X: place(chartLeft - 6), Y: place(y + 4), Text: short(value)}}
}

// Gauge shows how much of a limit is used.
type Gauge struct {
	// Label says it in a sentence; "" where the text beside the gauge does.
	Label       string
	Used, Limit int64
}

// Percent is how much is used, from 0 to 100.
func (g Gauge) Percent() int { return percent(g.Used, g.Limit) }

// Tone turns to warn near the limit and to fail at it.
func (g Gauge) Tone() string {
	switch {
	case g.Used >= g.Limit:
		return "fail"
	case g.Percent() >= nearLimit:
		return "warn"
	default:
		return "ok"
	}
}

// nearLimit is the percentage from which a gauge warns.
const nearLimit = 80

// Spark is a row of small bars, one for each of the last results, from the oldest to the newest.
type Spark struct {
	Label string
	// Tones are those of pills.
	Tones []string
}

// The size of a spark's bars in its own units.
const (
	sparkStep   = 6
	sparkHeight = 18
)

// Box is the spark's view box.
func (s Spark) Box() string { return fmt.Sprintf("0 0 %d %d", s.Width(), sparkHeight) }

// Width grows with the results.
func (s Spark) Width() int { return max(len(s.Tones), 1) * sparkStep }

// Rects are the bars. What did not pass is drawn in full height, so that it can be told without the color.
func (s Spark) Rects() []Rect {
	rects := make([]Rect, len(s.Tones))
	for i, tone := range s.Tones {
		height := sparkHeight
		if tone == "ok" {
			height = sparkHeight / 2
		}
		rects[i] = Rect{
			X: place(float64(i * sparkStep)), Y: place(float64(sparkHeight - height)), Width: "4",
			Height: place(float64(height)), Tone: tone,
		}
	}
	return rects
}

// place writes a coordinate as short as it can be seen.
func place(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", x), "0"), ".")
}
