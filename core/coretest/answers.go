package coretest

import (
	"context"
	"net/http"
)

// Answers reports whether a GET of the address is answered with 200, as a server that is ready answers its probes.
func Answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
