package guides

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// transcript compares what a page shows with what was printed. Ids are others each time, but what is one id on the page
// has to be one id in truth, and what are two have to be two.
type transcript struct {
	shownAs, printedAs map[string]string
	changing           *regexp.Regexp
}

const (
	idPattern   = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	timePattern = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`
	datePattern = `[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`
	hostPattern = `127\.0\.0\.1:\d+`
	leftOut     = "..."
)

func newTranscript() *transcript {
	return &transcript{
		shownAs: make(map[string]string), printedAs: make(map[string]string),
		changing: regexp.MustCompile(idPattern + "|" + timePattern + "|" + datePattern + "|" + hostPattern + `|\.\.\.`),
	}
}

// compare looks for each line of the page in what was printed, with nothing between but what the page says it left out.
func (t *transcript) compare(shown, printed string) error {
	got := lines(printed)
	skips := false
	for _, want := range lines(shown) {
		if want == leftOut {
			skips = true
			continue
		}
		i := 0
		for skips && i < len(got) && !t.matches(want, got[i]) {
			i++
		}
		if i == len(got) || !t.matches(want, got[i]) {
			return fmt.Errorf("printed:\n%s\nwant, as the page shows:\n%s\nfirst missing: %s", printed, shown, want)
		}
		t.bind(want, got[i])
		got, skips = got[i+1:], false
	}
	if len(got) > 0 && !skips {
		return fmt.Errorf("printed:\n%s\nwant no more than the page shows:\n%s", printed, shown)
	}
	return nil
}

func (t *transcript) matches(want, got string) bool {
	found := t.pattern(want).FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, id := range t.ids(want) {
		shown, known := t.shownAs[found[i+1]]
		if known && shown != id {
			return false
		}
	}
	return true
}

// bind remembers which ids stand for which.
func (t *transcript) bind(want, got string) {
	found := t.pattern(want).FindStringSubmatch(got)
	for i, id := range t.ids(want) {
		t.shownAs[found[i+1]], t.printedAs[id] = id, found[i+1]
	}
}

// pattern is a line of the page as a regular expression, with a group for each id.
func (t *transcript) pattern(want string) *regexp.Regexp {
	var pattern strings.Builder
	end := 0
	for _, place := range t.changing.FindAllStringIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[end:place[0]]))
		pattern.WriteString(t.patternOf(want[place[0]:place[1]]))
		end = place[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[end:]))
	return regexp.MustCompile("^" + pattern.String() + "$")
}

func (t *transcript) patternOf(shown string) string {
	for _, known := range []string{timePattern, datePattern, hostPattern} {
		if regexp.MustCompile("^(?:" + known + ")$").MatchString(shown) {
			return known
		}
	}
	if shown == leftOut {
		return ".*"
	}
	if printed, known := t.printedAs[shown]; known {
		return "(" + regexp.QuoteMeta(printed) + ")"
	}
	return "(" + idPattern + ")"
}

// actual is a command with the ids that were printed in place of those that the page shows.
func (t *transcript) actual(typed string) string {
	return regexp.MustCompile(idPattern).ReplaceAllStringFunc(typed, func(shown string) string {
		if printed, known := t.printedAs[shown]; known {
			return printed
		}
		return shown
	})
}

// ids lists the ids of a line as the page shows them.
func (t *transcript) ids(want string) []string {
	return regexp.MustCompile(idPattern).FindAllString(want, -1)
}

func lines(text string) []string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r", ""), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func TestTranscript(t *testing.T) {
	t.Parallel()

	const (
		a = "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9a11"
		b = "0199e0a4-51bd-7a20-b3c4-1d2e3f405162"
		c = "01a1fd3b-9d61-726e-8e86-810f5ba7e235"
		d = "01a1fd3b-9d5e-7d7f-aeb7-8eee4e783b75"
	)
	tests := map[string]struct {
		shown, printed string
		same           bool
	}{
		"Equal":             {"one\ntwo\n", "one\r\ntwo\r\n\n", true},
		"Another":           {"one\n", "two\n", false},
		"OneMore":           {"one\n", "one\ntwo\n", false},
		"OneLess":           {"one\ntwo\n", "one\n", false},
		"LinesLeftOut":      {"one\n...\nfour\n", "one\ntwo\nthree\nfour\n", true},
		"NoLineLeftOut":     {"one\n...\nfour\n", "one\nfour\n", true},
		"TheEndLeftOut":     {"one\n...\n", "one\ntwo\n", true},
		"MissingAfterGap":   {"one\n...\nfive\n", "one\ntwo\n", false},
		"PartLeftOut":       {`{"id":1,...}`, `{"id":1,"x":2}`, true},
		"Times":             {"at 2026-03-02T09:15:04.120Z", "at 2027-01-01T00:00:00Z", true},
		"NoTime":            {"at 2026-03-02T09:15:04.120Z", "at noon", false},
		"SameIDs":           {a + "\n" + a, c + "\n" + c, true},
		"DifferentIDs":      {a + "\n" + b, c + "\n" + d, true},
		"OneIDThatIsTwo":    {a + "\n" + a, c + "\n" + d, false},
		"TwoIDsThatAreOne":  {a + "\n" + b, c + "\n" + c, false},
		"LiteralPatterns":   {"a.c (x)", "abc (x)", false},
		"HostsWithAnyPorts": {"http://127.0.0.1:8000/", "http://127.0.0.1:41234/", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := newTranscript().compare(tt.shown, tt.printed); (err == nil) != tt.same {
				t.Errorf("compare = %v, want the same: %t", err, tt.same)
			}
		})
	}
}
