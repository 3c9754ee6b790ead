package viewer

import (
	"slices"
	"strconv"

	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Minimap is a strip that shows the positions of the findings in the document.
type Minimap struct {
	Label string
	// Last is the line at the right edge. Line 1 is at the left edge.
	Last  string
	Marks []mapMark
}

// mapMark is a part of the strip. Its address leads to the first finding there; "" if the document is not kept.
type mapMark struct{ X, Width, Tone, Address string }

// minimapMarks is the resolution of the minimap, and minimapWidth its width.
const (
	minimapMarks = 200
	minimapWidth = 1000
)

// NewMinimap draws the lines with findings, up to the last one: the length of the document is not known. It returns nil
// if fewer than two lines have findings.
func NewMinimap(run validations.Run, places []validations.FindingPlace, address func(line int) string) *Minimap {
	lines := linesOf(places)
	if len(lines) < 2 {
		return nil
	}
	drawn := drawMap(places, lines[len(lines)-1], address)
	if int64(len(places)) < run.FindingCount() {
		drawn.Label += " that are listed"
	}
	return drawn
}

// drawMap draws the lines with findings in a document of so many lines. It returns nil if there are none.
func drawMap(places []validations.FindingPlace, last int, address func(line int) string) *Minimap {
	lines := linesOf(places)
	if len(lines) == 0 {
		return nil
	}
	last = max(last, lines[len(lines)-1])
	tones := make(map[int]string)
	// The most severe tone is set last, so it is the one that is seen.
	for _, severity := range []engines.Severity{engines.SeverityInfo, engines.SeverityWarning, engines.SeverityError} {
		for _, p := range places {
			if p.Line > 0 && p.Severity == severity {
				tones[(p.Line-1)*minimapMarks/last] = validations.SeverityPill(severity).Tone
			}
		}
	}
	drawn := &Minimap{Label: pages.Counted(int64(len(lines)), "line") + " with findings", Last: pages.Number(last)}
	const step = minimapWidth / minimapMarks
	for at := range minimapMarks {
		if tone := tones[at]; tone != "" {
			first := slices.IndexFunc(lines, func(line int) bool { return (line-1)*minimapMarks/last == at })
			drawn.Marks = append(drawn.Marks, mapMark{
				X: strconv.Itoa(at * step), Width: strconv.Itoa(step), Tone: tone, Address: address(lines[first]),
			})
		}
	}
	return drawn
}
