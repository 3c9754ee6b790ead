package idempotency_test

import (
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// TestRefusalsCannotBeStored checks the constraint that keeps a refusal from being replayed for a day, even if the code
// has a mistake.
func TestRefusalsCannotBeStored(t *testing.T) {
	t.Parallel()
	database := setup(t)
	for _, status := range []int{100, 302, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			claim := newClaim(uuid.New(), "k", "a")
			claim.Response.Status = status
			_, err := claimKeys(t.Context(), database, claim)
			if got := db.ViolatedConstraint(err); got != "ck_idempotency_keys_status" {
				t.Errorf("claim = %v, want a violation of ck_idempotency_keys_status", err)
			}
		})
	}
}
