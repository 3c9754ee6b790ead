package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users/account"
)

func TestPasswordsAreHashedInTurn(t *testing.T) {
	t.Parallel()
	passwords := account.NewPasswords()
	passwords.HashCheaply()
	const password = "a long password"

	empty := passwords.FillHashQueue()
	_, err := passwords.Match(t.Context(), "203.0.113.1", password, "")
	refused, ok := errors.AsType[*core.Error](err)
	if !ok || refused.Code != api.CodeRateLimited || refused.RetrySeconds() != 2 {
		t.Errorf("Match with a full queue = %v, want %s and to come back", err, api.CodeRateLimited)
	}
	// A flood leaves those a place whom the service knows.
	if _, err := passwords.Hash(t.Context(), password); err != nil {
		t.Errorf("Hash beside a flood = %v, want no error", err)
	}
	// What is too long is refused before it waits for anything.
	_, err = passwords.Hash(t.Context(), strings.Repeat(password+" ", 64)+"!")
	if !errors.Is(err, api.CodeInvalidPayload) {
		t.Errorf("Hash of 1025 bytes = %v, want %s", err, api.CodeInvalidPayload)
	}
	empty()
	for range 50 {
		if _, err := passwords.Hash(t.Context(), strings.Repeat(password+" ", 64)); err != nil {
			t.Fatalf("Hash = %v, want no error: each leaves its place", err)
		}
	}
}

// One network does not take all places of strangers.
func TestNetworksTakeTurns(t *testing.T) {
	t.Parallel()
	passwords := account.NewPasswords()
	passwords.HashCheaply()
	empty := passwords.FillHashPlace()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := passwords.Match(ctx, "203.0.113.1", "a long password", "")
			ended <- err
		}()
	}
	if err := <-ended; !errors.Is(err, api.CodeRateLimited) {
		t.Errorf("one of three of a network = %v, want %s", err, api.CodeRateLimited)
	}
	empty()
	if _, err := passwords.Match(t.Context(), "203.0.113.2", "a long password", ""); err != nil {
		t.Errorf("Match of another network = %v, want no error", err)
	}
	cancel()
	for range 2 {
		if err := <-ended; errors.Is(err, api.CodeRateLimited) {
			t.Errorf("Match of the first two = %v, want them to wait", err)
		}
	}
}
