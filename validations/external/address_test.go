package external

import (
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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

// names is a name server that a test decides the answers of: what a name stands for, one list for each time it is
// asked.
type names struct {
	mu      sync.Mutex
	answers [][]string
}

func (n *names) next() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	addresses := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return addresses
}

// resolver returns a resolver that asks the name server. A question for IPv6 addresses is answered from the same list
// as the one for IPv4 that comes with it.
func (n *names) resolver(tb testing.TB) *net.Resolver {
	tb.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // It ends the loop.
	go func() {
		buffer := make([]byte, 512)
		var current []string
		for asked := 0; ; asked++ {
			size, peer, err := conn.ReadFromUDP(buffer)
			if err != nil {
				return
			}
			if asked%2 == 0 {
				current = n.next()
			}
			_, _ = conn.WriteToUDP(reply(buffer[:size], current), peer) // Who has gone asks again.
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: (&redirected{conn.LocalAddr().String()}).dial}
}

// reply answers a question with those of the addresses that are of the kind that was asked for.
func reply(question []byte, addresses []string) []byte {
	const header, typeA, typeAAAA, classIN = 12, 1, 28, 1
	end := header
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	asked := binary.BigEndian.Uint16(question[end+1:])
	answer := append([]byte{}, question[:end+5]...)
	copy(answer[2:], []byte{0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	for _, text := range addresses {
		ip := netip.MustParseAddr(text)
		if ip.Is4() != (asked == typeA) || asked != typeA && asked != typeAAAA {
			continue
		}
		answer[7]++
		answer = append(answer, 0xc0, header, 0, byte(asked), 0, classIN, 0, 0, 0, 0, 0, byte(len(ip.AsSlice())))
		answer = append(answer, ip.AsSlice()...)
	}
	return answer
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
			stub := &names{answers: tt.answers}
			client := newClient(NewPolicy(allowed), time.Microsecond, stub.resolver(t))
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
