package account_test

import (
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
	_, err := passwords.Hash(t.Context(), password)
	refused, ok := errors.AsType[*core.Error](err)
	if !ok || refused.Code != api.CodeUnavailable || refused.RetrySeconds() != 2 {
		t.Errorf("Hash with a full queue = %v, want %s and to come back", err, api.CodeUnavailable)
	}
	// What is too long is refused before it waits for anything.
	_, err = passwords.Hash(t.Context(), strings.Repeat("p", 1025))
	if !errors.Is(err, api.CodeInvalidPayload) {
		t.Errorf("Hash of 1025 bytes = %v, want %s", err, api.CodeInvalidPayload)
	}
	empty()
	for range 50 {
		if _, err := passwords.Hash(t.Context(), strings.Repeat("p", 1024)); err != nil {
			t.Fatalf("Hash = %v, want no error: each leaves its place", err)
		}
	}
}
