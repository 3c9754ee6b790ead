package core

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// ETag names a version of a content by its bytes, in the form of the header.
func ETag(content []byte) string {
	const enough = 16
	sum := sha256.Sum256(content)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:enough]) + `"`
}

// HasVersion reports whether the client has the version with this tag, so that the answer is 304. It compares weakly
// (RFC 9110, section 13.1.2). http.ServeContent would also answer ranges, and refuse some without a problem
// document.
func HasVersion(request *http.Request, tag string) bool {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		return false
	}
	for candidate := range strings.SplitSeq(request.Header.Get("If-None-Match"), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}
