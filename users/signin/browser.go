package signin

import (
	"cmp"
	"strings"
)

// Browser is what people call the browser of a session, such as "Firefox on Linux". A browser that is not known is its
// whole User-Agent.
func (s Session) Browser() string {
	// The order counts: most browsers also name those whose pages they want to get.
	browser := firstIn(s.UserAgent, [][2]string{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	})
	if browser == "" {
		return cmp.Or(s.UserAgent, "unknown")
	}
	system := firstIn(s.UserAgent, [][2]string{
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Android", "Android"},
		{"Windows", "Windows"},
		{"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"},
		{"Linux", "Linux"},
	})
	if system == "" {
		return browser
	}
	return browser + " on " + system
}

// firstIn returns the name of the first mark that a text has; "" if it has none.
func firstIn(text string, marks [][2]string) string {
	for _, mark := range marks {
		if strings.Contains(text, mark[0]) {
			return mark[1]
		}
	}
	return ""
}
