package pages

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// functions are what templates may call besides the parts.
func functions(files assets) template.FuncMap {
	return template.FuncMap{
		"asset":   func(name string) string { return files[name].address },
		"ago":     ago,
		"stamp":   stamp,
		"day":     func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"clock":   clock,
		"iso":     func(at time.Time) string { return api.At(at).String() },
		"took":    Took,
		"number":  Number[int64],
		"size":    Size,
		"count":   core.Plural,
		"pill":    NewPill,
		"percent": percent,
		"formKey": core.NewID,
	}
}

// Pill is a state in a word, with a sign and a color.
type Pill struct {
	// Tone is ok, fail, warn, error, run, idle or replay. What fails is the visitor's, an error is ours.
	Tone string
	Text string
}

// NewPill makes a pill.
func NewPill(tone, text string) Pill { return Pill{Tone: tone, Text: text} }

// Sign stands before the text, so that the state is not shown by color alone.
func (p Pill) Sign() string {
	switch p.Tone {
	case "ok":
		return "✓"
	case "fail":
		return "✕"
	case "warn", "error":
		return "!"
	case "run":
		return "◔"
	case "replay":
		return "↻"
	default:
		return "–"
	}
}

const day = 24 * time.Hour

// ago writes a time as people say it, like "5 min ago"; the page shows the exact time beside it.
func ago(t time.Time) string {
	passed := time.Since(t)
	if passed < 0 {
		return "in " + roughly(-passed)
	}
	if passed < 5*time.Second {
		return "just now"
	}
	return roughly(passed) + " ago"
}

func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return core.Plural(int(d/day), "day")
	}
}

// stamp is a time to the millisecond, as in logs.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// clock is the time of a day to the millisecond, where the day stands elsewhere.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// Took writes a duration with the unit that suits it.
func Took(d time.Duration) string {
	switch {
	case d > 0 && d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Counted formats a number with its noun.
func Counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// Number writes a number with its thousands set apart.
func Number[T int | int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Size writes a number of bytes with the unit that suits it.
func Size(n int64) string {
	const step = 1024
	if n < step {
		return core.Plural(int(n), "byte")
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB"} {
		if size /= step; size < step {
			break
		}
	}
	return strings.TrimSuffix(strconv.FormatFloat(size, 'f', 1, 64), ".0") + " " + unit
}

// percent is a part of a whole, from 0 to 100.
func percent(part, whole int64) int {
	if whole <= 0 {
		return 0
	}
	return int(min(max(part*100/whole, 0), 100))
}
