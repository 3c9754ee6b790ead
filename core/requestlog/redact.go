package requestlog

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

const (
	// maxHeaders is how many header fields of a request are kept, and maxHeaderValue how many characters of each.
	maxHeaders     = 50
	maxHeaderValue = 500
)

// secretMark begins every secret of the service: of tokens, links, sessions and signatures. A value that has it is
// hidden, wherever a client has put it.
var secretMark = regexp.MustCompile(`sv[st]?_`)

// shown are the headers whose values are kept. Of all others only the names are, because a client may put a secret into
// any header.
var shown = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Cache-Control": true, "Connection": true,
	"Content-Disposition": true, "Content-Encoding": true, "Content-Language": true, "Content-Length": true,
	"Content-Type": true, "Date": true, "Expect": true, "Forwarded": true, "Idempotency-Key": true, "Origin": true,
	"Prefer": true, "Request-Id": true, "Sec-Fetch-Dest": true, "Sec-Fetch-Mode": true, "Sec-Fetch-Site": true,
	"Traceparent": true, "User-Agent": true, "Via": true, "X-Forwarded-For": true, "X-Forwarded-Host": true,
	"X-Forwarded-Proto": true, "X-Request-Id": true,
}

// keep returns the header fields of a request by name, without what may be secret.
func keep(header http.Header) []api.LoggedHeader {
	kept := make([]api.LoggedHeader, 0, min(len(header), maxHeaders))
	for name, values := range header {
		if len(kept) == maxHeaders {
			break
		}
		value := core.StorableUpTo(strings.Join(values, ", "), maxHeaderValue)
		field := api.LoggedHeader{Name: core.StorableUpTo(name, maxHeaderValue), Value: value}
		if !shown[name] || secretMark.MatchString(value) {
			field.Value, field.Hidden = "", true
		}
		kept = append(kept, field)
	}
	slices.SortFunc(kept, func(a, b api.LoggedHeader) int { return strings.Compare(a.Name, b.Name) })
	return kept
}
