package conformance

import "testing"

// TestIdemcheck has what the product promises, as it checks other APIs. It leaves HTTP/2 to the proxy before it.
func TestIdemcheck(t *testing.T) {
	t.Parallel()
	s := open(t, "SV_RUN_LEASE=30s", "SV_RUN_SWEEP_AFTER=30s")
	s.Idemcheck(t, s.one.URL(), s.other.URL(), func() {
		s.one.Kill()
		s.one = s.one.Again(t, s.Settings)
	}, "replay/http2")
}
