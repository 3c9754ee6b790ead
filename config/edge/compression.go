package edge

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// compressed compresses answers of more than 1 KiB for clients that accept gzip. Only answers to GET are compressed, so
// replays keep their bytes, and HEAD describes the plain form. Events are not compressed, as they are sent at once. Nor
// are the pages of the dashboard: they show secrets beside text that links bring along, and the length of a compressed
// page would reveal them bit by bit (BREACH). Answers of the API need a token, which no other site can have a browser
// send.
func compressed(next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.SuffixETag(core.GzipTag))
	if err != nil {
		return nil, fmt.Errorf("set up the compression of answers: %w", err)
	}
	coded := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
		isStream := strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/events")
		if !isRead || isStream || strings.HasPrefix(r.URL.Path, pages.Root) {
			next.ServeHTTP(w, r)
			return
		}
		coded(w, r)
	}), nil
}
