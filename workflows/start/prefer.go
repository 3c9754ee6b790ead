package start

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest that a request can ask to wait.
const maxWait = 60 * time.Second

// preferredWait reads the preference "wait" (RFC 7240, section 4.3) in seconds; more than maxWait is
// maxWait. A preference that cannot be understood is ignored, as that RFC asks for. Zero is no wait.
func preferredWait(header http.Header) time.Duration {
	for preference := range strings.SplitSeq(strings.Join(header.Values("Prefer"), ","), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0
		}
		return min(time.Duration(seconds)*time.Second, maxWait)
	}
	return 0
}
