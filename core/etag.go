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

// HasVersion reports whether the one who asks has the version with this tag already, so that 304 is an answer
// (RFC 9110, section 13.1.2, which compares weakly).
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
