package edge

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for name, tt := range map[string]struct {
		proxies               []netip.Prefix
		peer, forwarded, want string
	}{
		"WithoutProxies":      {nil, "10.1.0.1:1", "192.0.2.7", "10.1.0.1"},
		"ByAProxy":            {proxies, "10.1.0.1:1", "192.0.2.7", "192.0.2.7"},
		"MadeUpBeforeAProxy":  {proxies, "10.1.0.1:1", "198.51.100.1, 192.0.2.7", "192.0.2.7"},
		"ByTwoProxies":        {proxies, "10.1.0.1:1", "192.0.2.7, 10.1.0.2", "192.0.2.7"},
		"ByAnotherThanAProxy": {proxies, "10.2.0.1:1", "192.0.2.7", "10.2.0.1"},
		"ByThisMachine":       {proxies, "127.0.0.1:1", "192.0.2.7", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			request.RemoteAddr = tt.peer
			request.Header.Set("X-Forwarded-For", tt.forwarded)
			if got := ClientAddress(tt.proxies)(request); got != tt.want {
				t.Errorf("address = %s, want %s", got, tt.want)
			}
		})
	}
}
