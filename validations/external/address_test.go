package external

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	strict := NewPolicy(nil)
	lax := NewPolicy([]netip.Prefix{netip.MustParsePrefix("10.1.2.3/8"), netip.MustParsePrefix("fd00::/8")})
	for address, want := range map[string]struct{ strict, lax bool }{
		"93.184.216.34:443": {true, true}, "[2606:2800:220:1::1]:443": {true, true}, "8.8.8.8:8443": {true, true},
		"93.184.216.34:25": {}, "93.184.216.34:80": {}, "93.184.216.34:22": {},
		"10.0.0.1:443": {false, true}, "10.255.255.255:22": {false, true}, "[::ffff:10.0.0.1]:443": {false, true},
		"[fd00:ec2::254]:80": {false, true}, "[fc00::1]:443": {},
		"127.0.0.1:443": {}, "127.255.255.254:443": {}, "0.0.0.0:443": {}, "0.1.2.3:443": {},
		"169.254.169.254:443": {}, "100.100.100.200:443": {}, "100.64.0.1:443": {}, "100.127.255.255:443": {},
		"172.16.0.1:443": {}, "172.31.255.255:443": {}, "172.32.0.1:443": {true, true}, "192.168.1.1:443": {},
		"192.0.0.192:443": {}, "192.0.2.1:443": {}, "198.18.0.1:443": {}, "198.51.100.1:443": {},
		"203.0.113.1:443": {}, "224.0.0.1:443": {}, "239.255.255.255:443": {}, "240.0.0.1:443": {},
		"255.255.255.255:443": {}, "192.88.99.1:443": {},
		"[::]:443": {}, "[::1]:443": {}, "[::ffff:127.0.0.1]:443": {}, "[::ffff:7f00:1]:443": {},
		"[::ffff:169.254.169.254]:443": {}, "[::127.0.0.1]:443": {}, "[fe80::1]:443": {}, "[fe80::1%eth0]:443": {},
		"[2606:2800:220:1::1%eth0]:443": {}, "[fec0::1]:443": {}, "[64:ff9b::7f00:1]:443": {},
		"[64:ff9b:1::7f00:1]:443": {}, "[2002:7f00:1::]:443": {}, "[2001::1]:443": {}, "[2001:db8::1]:443": {},
		"[3fff::1]:443": {}, "[ff02::1]:443": {}, "[100::1]:443": {}, "[5f00::1]:443": {},
	} {
		parsed := netip.MustParseAddrPort(address)
		if got := strict.permits(parsed, true); got != want.strict {
			t.Errorf("%s = %t, want %t", address, got, want.strict)
		}
		if got := lax.permits(parsed, true); got != want.lax {
			t.Errorf("%s with allowed networks = %t, want %t", address, got, want.lax)
		}
		if got, allowed := lax.permits(parsed, false), want.lax && !want.strict; got != allowed {
			t.Errorf("%s without TLS = %t, want %t", address, got, allowed)
		}
	}
	if strict.permits(netip.AddrPort{}, true) {
		t.Error("no address at all is permitted")
	}
}

func TestClientReachesNoPrivateAddress(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := NewClient(NewPolicy(nil), time.Microsecond)
	for _, host := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "0.0.0.0", "[::]", "[::1]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "localhost.", "LOCALHOST", "127.0.0.1.", "user@127.0.0.1",
	} {
		for _, scheme := range []string{"http", "https"} {
			call := newTestCall(t, scheme+"://"+host+":"+port+"/", true)
			if answer, err := client.Do(t.Context(), call); err == nil {
				t.Errorf("%s://%s = %+v, want an error", scheme, host, answer)
			}
		}
	}
	if reached.Load() != 0 {
		t.Errorf("connections = %d, want none", reached.Load())
	}
}

func TestClientChecksTheAddressThatItDials(t *testing.T) {
	t.Parallel()
	allowed := []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	const answered = "it answered with status 500"
	const unreached = "it could not be reached, or its address is not public nor in the operator's SV_EXTERNAL_ALLOW"
	for name, tt := range map[string]struct {
		answers [][]string
		// reached is how often the server behind all loopback addresses is reached.
		reached int64
		reason  string
		// refused says that the log has the refusal.
		refused bool
	}{
		"APrivateAddress":       {[][]string{{"127.0.0.1"}}, 0, unreached, true},
		"OnlyAPrivateIPv6":      {[][]string{{"::1"}}, 0, unreached, true},
		"AMappedAddress":        {[][]string{{"::ffff:127.0.0.1"}}, 0, unreached, true},
		"AllOfSeveral":          {[][]string{{"127.0.0.1", "127.0.0.3", "::1"}}, 0, unreached, true},
		"NoAddress":             {[][]string{{}}, 0, unreached, false},
		"AnAllowedOneOfSeveral": {[][]string{{"127.0.0.1", "127.0.0.2"}}, maxAttempts, answered, false},
		"RebindingToAPrivate":   {[][]string{{"127.0.0.2"}, {"127.0.0.1"}}, 1, unreached, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reached atomic.Int64
			listener, err := net.Listen("tcp", "0.0.0.0:0")
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reached.Add(1)
				w.WriteHeader(http.StatusInternalServerError)
			}))
			server.Listener = listener
			server.Start()
			t.Cleanup(server.Close)
			_, port, err := net.SplitHostPort(listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			var names outside.Names
			names.Answer("checks.example", tt.answers...)
			client := newClient(NewPolicy(allowed), time.Microsecond, names.Resolver())
			_, err = client.Do(t.Context(), newTestCall(t, "http://checks.example:"+port+"/", true))
			// How soon the call ends tells as little as the reason: all names are tried as often.
			failure, ok := errors.AsType[*CallError](err)
			if !ok || failure.Reason != tt.reason || failure.outcome == final || reached.Load() != tt.reached ||
				errors.Is(err, ErrAddress) != tt.refused {
				t.Errorf("error = %v after %d connections, want %q after %d",
					err, reached.Load(), tt.reason, tt.reached)
			}
		})
	}
}
