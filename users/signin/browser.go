package signin

import (
	"cmp"
	"strings"
)

// Browser is what people call the browser of a session, such as "Firefox on Linux". A browser that is not known is its
// whole User-Agent.
func (s Session) Browser() string {
	// The order counts: most browsers also name those whose pages they want to get.
	browser := firstIn(s.UserAgent, "Edg", "Edge", "OPR/", "Opera", "SamsungBrowser/", "Samsung Internet",
		"Firefox/", "Firefox", "FxiOS/", "Firefox", "CriOS/", "Chrome", "Chrome/", "Chrome", "Safari/", "Safari")
	if browser == "" {
		return cmp.Or(s.UserAgent, "unknown")
	}
	system := firstIn(s.UserAgent, "iPhone", "iPhone", "iPad", "iPad", "Android", "Android", "Windows", "Windows",
		"CrOS", "ChromeOS", "Mac OS X", "macOS", "Linux", "Linux")
	if system == "" {
		return browser
	}
	return browser + " on " + system
}

// firstIn returns the name that follows the first of the marks that a text has; "" if it has none.
func firstIn(text string, marksAndNames ...string) string {
	for i := 0; i < len(marksAndNames); i += 2 {
		if strings.Contains(text, marksAndNames[i]) {
			return marksAndNames[i+1]
		}
	}
	return ""
}
