package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
)

//go:embed soak.svg.tmpl
var pictureText string

// curve is one figure of a soak over its minutes, in a tone of the documentation's drawings.
type curve struct {
	tone, name string
	of         func(soaked) float64
}

// panel is a part of the picture, whose curves share an axis from 0 to Most.
type panel struct {
	X, Y   int
	Title  string
	Most   string
	Curves []drawn
}

type drawn struct{ Tone, Name, Path string }

// Each panel has so much of the picture, and its curves so much of it.
const (
	panelWidth, panelHeight = 360, 130
	curveWidth, curveHeight = 300.0, 80.0
)

// chart is curves that share an axis.
type chart struct {
	title  string
	curves []curve
}

func charts() []chart {
	return []chart{
		{"Starts a second", []curve{{"flow", "", func(m soaked) float64 { return rateOf(m.sample) }}}},
		{"Milliseconds of a start", []curve{
			{"lost", "p99", func(m soaked) float64 { return percentile(99)(m.sample) }},
			{"flow", "p50", func(m soaked) float64 { return percentile(50)(m.sample) }},
		}},
		{"Numbers of", []curve{
			{"flow", "goroutines", func(m soaked) float64 { return float64(m.goroutines) }},
			{"lost", "runs that wait", func(m soaked) float64 { return float64(m.waiting) }},
		}},
		{"MiB in memory", []curve{{"flow", "", func(m soaked) float64 { return m.memory }}}},
		{"MiB of", []curve{
			{"flow", "keys", func(m soaked) float64 { return m.keys }},
			{"lost", "log", func(m soaked) float64 { return m.log }},
		}},
		{"MiB of", []curve{
			{"lost", "database", func(m soaked) float64 { return m.all }},
			{"flow", "runs", func(m soaked) float64 { return m.runs }},
		}},
	}
}

// drawSoak writes the picture of a soak.
func drawSoak(out io.Writer, minutes []soaked) error {
	var panels []panel
	for n, p := range charts() {
		most := 0.0
		for _, c := range p.curves {
			for _, m := range minutes {
				most = max(most, c.of(m))
			}
		}
		drawing := panel{X: n % 2 * panelWidth, Y: n / 2 * panelHeight, Title: p.title, Most: thousands(most)}
		for _, c := range p.curves {
			drawing.Curves = append(drawing.Curves, drawn{c.tone, c.name, path(minutes, c.of, most)})
		}
		panels = append(panels, drawing)
	}
	picture, err := template.New("").Parse(pictureText)
	if err == nil {
		err = picture.Execute(out, map[string]any{"Panels": panels, "Minutes": len(minutes)})
	}
	if err != nil {
		return fmt.Errorf("draw the soak: %w", err)
	}
	return nil
}

func path(minutes []soaked, of func(soaked) float64, most float64) string {
	var d strings.Builder
	for n, m := range minutes {
		fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(n, 1)], curveWidth*float64(n)/float64(max(1, len(minutes)-1)),
			curveHeight*(1-of(m)/max(most, 1)))
	}
	return d.String()
}
