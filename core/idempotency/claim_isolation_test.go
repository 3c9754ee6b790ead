package idempotency_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestClaimRacesWhereSerializableIsTheDefault lets requests race on a database whose transactions would fail with
// unique violations and serialization failures if they did not ask for another isolation level.
func TestClaimRacesWhereSerializableIsTheDefault(t *testing.T) {
	t.Parallel()
	address := coretest.DatabaseURL(t)
	_, err := coretest.Connect(t, address).Pool.Exec(t.Context(), `
		DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
		END $$`)
	if err != nil {
		t.Fatal(err)
	}
	db := coretest.Connect(t, address)
	org := uuid.New()
	for round := range 20 {
		key := fmt.Sprintf("k%d", round)
		if claimed := race(t, db, org, key); claimed != 1 {
			t.Fatalf("round %d: claimed %d times, want once", round, claimed)
		}
		// A request that lost the race without waiting reads the record of the winner.
		if outcome := mustClaim(t, db, newClaim(org, key, "a"))[0]; outcome.Existing == nil {
			t.Fatalf("round %d: outcome = %+v, want the record of the winner", round, outcome)
		}
	}
}
