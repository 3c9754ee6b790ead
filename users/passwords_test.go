package users_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/users"
)

func TestPasswordsAreHashedInTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.service.HashCheaply()
	const password = "a long password"

	empty := b.service.FillHashQueue()
	err := b.service.SetPassword(t.Context(), uuid.New(), password)
	refused, ok := errors.AsType[*core.Error](err)
	if !ok || refused.Code != core.CodeUnavailable || refused.RetrySeconds() != 2 {
		t.Errorf("SetPassword with a full queue = %v, want %s and to come back", err, core.CodeUnavailable)
	}
	// What is too long is refused before it waits for anything.
	err = b.service.SetPassword(t.Context(), uuid.New(), strings.Repeat("p", 1025))
	if !core.HasCode(err, core.CodeInvalidPayload) {
		t.Errorf("SetPassword of 1025 bytes = %v, want %s", err, core.CodeInvalidPayload)
	}
	empty()
	for range 50 {
		if err := b.service.SetPassword(t.Context(), uuid.New(), strings.Repeat("p", 1024)); err != nil {
			t.Fatalf("SetPassword = %v, want no error: each leaves its place", err)
		}
	}
}

func TestNetworkOfAnAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64",
		"2001:db8:1:3::1": "2001:db8:1:3::/64", "fe80::1%eth0": "fe80::/64", "unknown": "unknown",
	} {
		if got := users.Network(address); got != want {
			t.Errorf("network of %s = %s, want %s", address, got, want)
		}
	}
}
