package share_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/share"
)

func TestNetworkOfAnAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64",
		"2001:db8:1:3::1": "2001:db8:1:3::/64", "fe80::1%eth0": "fe80::/64", "unknown": "unknown",
	} {
		if got := share.Network(address); got != want {
			t.Errorf("network of %s = %s, want %s", address, got, want)
		}
	}
}
