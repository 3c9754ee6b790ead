package idempotency_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const endpoint idempotency.Endpoint = "test"

// newClaim claims the key for a request that is its content, without a subject.
func newClaim(org uuid.UUID, key, content string) idempotency.Claim {
	return idempotency.Claim{
		ID: uuid.Must(uuid.NewV7()), OrgID: org, Endpoint: endpoint, Key: key,
		Fingerprint: idempotency.Request{
			Method: http.MethodPost, Endpoint: string(endpoint), Target: "t",
			Content: idempotency.DigestBytes([]byte(content)),
		}.Fingerprint(),
		Caller: idempotency.Caller{
			Method: http.MethodPost, Path: "/", RequestID: "request-" + content, IP: netip.MustParseAddr("::1"),
			UserAgent: "test",
		},
		Lifetime: time.Hour,
		Response: idempotency.Response{
			Status:  http.StatusCreated,
			Headers: idempotency.ResponseHeaders{ContentType: "text/plain", Location: "/" + content},
			Body:    []byte("body of " + content + " \x00\xff"),
		},
	}
}

// claimKeys claims keys in a transaction of its own.
func claimKeys(
	ctx context.Context, database *db.DB, claims ...idempotency.Claim,
) ([]idempotency.ClaimResult, error) {
	return db.InTx(ctx, database, func(tx db.Tx) ([]idempotency.ClaimResult, error) {
		batch := tx.NewBatch()
		pending := idempotency.QueueClaims(batch, claims)
		if err := batch.Send(ctx); err != nil {
			return nil, err
		}
		byID, err := pending.Results(ctx, tx)
		results := make([]idempotency.ClaimResult, len(claims))
		for i, claim := range claims {
			results[i] = byID[claim.ID]
		}
		return results, err
	})
}

// setup opens a database whose keys may refer to subjects that do not exist.
func setup(t *testing.T) *db.DB {
	t.Helper()
	database := coretest.OpenDatabase(t)
	_, err := database.Pool.Exec(t.Context(), `ALTER TABLE idempotency_keys DROP CONSTRAINT fk_idempotency_keys_run`)
	if err != nil {
		t.Fatal(err)
	}
	return database
}

func mustClaim(t *testing.T, database *db.DB, claims ...idempotency.Claim) []idempotency.ClaimResult {
	t.Helper()
	results, err := claimKeys(t.Context(), database, claims...)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return results
}

func expire(t *testing.T, database *db.DB, key string) {
	t.Helper()
	_, err := database.Pool.Exec(t.Context(), `UPDATE idempotency_keys SET created_at = now() - interval '2 days',
		expires_at = now() - interval '1 second' WHERE key = $1`, key)
	if err != nil {
		t.Fatal(err)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	database := setup(t)
	org := uuid.New()

	t.Run("FirstUseIsClaimedAndStoredWhole", func(t *testing.T) {
		t.Parallel()
		claim := newClaim(org, "first", "a")
		outcome := mustClaim(t, database, claim)[0]
		if !outcome.Claimed {
			t.Fatalf("outcome = %+v, want claimed", outcome)
		}
		record, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, "first")
		if err != nil || !found {
			t.Fatalf("lookup = %t, %v, want found", found, err)
		}
		want := idempotency.Record{
			ID: claim.ID, OrgID: org, Endpoint: endpoint, Key: "first", Fingerprint: claim.Fingerprint,
			RequestID: "request-a", Point: idempotency.PointFinished, Epoch: 1,
			ExpiresAt: outcome.ExpiresAt, Response: claim.Response,
		}
		if diff := cmp.Diff(want, record); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})

	t.Run("SecondUseSeesTheFirst", func(t *testing.T) {
		t.Parallel()
		first := newClaim(org, "second", "a")
		mustClaim(t, database, first)
		for content, wantCode := range map[string]core.Code{"a": "", "b": core.CodeKeyReused} {
			second := newClaim(org, "second", content)
			outcome := mustClaim(t, database, second)[0]
			if outcome.Claimed || outcome.Existing == nil || outcome.Existing.ID != first.ID {
				t.Fatalf("outcome = %+v, want the record of the first", outcome)
			}
			checkCode(t, outcome.Existing.Decide(second.Fingerprint, "thing"), wantCode)
		}
	})

	t.Run("OrganizationsAndEndpointsNeverMeet", func(t *testing.T) {
		t.Parallel()
		mine, theirs := newClaim(org, "scope", "a"), newClaim(uuid.New(), "scope", "a")
		elsewhere := newClaim(org, "scope", "a")
		elsewhere.Endpoint = "other"
		for i, outcome := range mustClaim(t, database, mine, theirs, elsewhere) {
			if !outcome.Claimed {
				t.Errorf("claim %d = %+v, want claimed", i, outcome)
			}
		}
	})

	t.Run("ExpiredKeyIsTakenOverWithNothingLeftOfTheOldUse", func(t *testing.T) {
		t.Parallel()
		mustClaim(t, database, newClaim(org, "expired", "old"))
		expire(t, database, "expired")
		if _, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, "expired"); found || err != nil {
			t.Errorf("lookup = %t, %v, want an expired key to be absent", found, err)
		}
		fresh := newClaim(org, "expired", "new")
		outcome := mustClaim(t, database, fresh)[0]
		record, _, err := idempotency.Lookup(t.Context(), database, org, endpoint, "expired")
		if err != nil || !outcome.Claimed {
			t.Fatalf("outcome = %+v, %v, want claimed", outcome, err)
		}
		want := idempotency.Record{
			ID: fresh.ID, OrgID: org, Endpoint: endpoint, Key: "expired", Fingerprint: fresh.Fingerprint,
			RequestID: "request-new", Point: idempotency.PointFinished, Epoch: 1,
			ExpiresAt: outcome.ExpiresAt, Response: fresh.Response,
		}
		if diff := cmp.Diff(want, record); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})

	t.Run("WithdrawnKeyIsGone", func(t *testing.T) {
		t.Parallel()
		claim := newClaim(org, "withdrawn", "a")
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			if _, err := idempotency.ClaimKey(t.Context(), tx, claim); err != nil {
				return 0, err
			}
			batch := tx.NewBatch()
			idempotency.Withdraw(batch, claim)
			return 0, batch.Send(t.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, "withdrawn"); found || err != nil {
			t.Errorf("lookup = %t, %v, want nothing", found, err)
		}
	})

	t.Run("HeldByAnUncommittedRivalIsInProgress", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			_, err := idempotency.ClaimKey(t.Context(), tx, newClaim(org, "held", "a"))
			if err != nil {
				return 0, err
			}
			outcome := mustClaim(t, database, newClaim(org, "held", "b"))[0]
			if outcome.Claimed || outcome.Existing != nil {
				t.Errorf("outcome = %+v, want neither claimed nor a record", outcome)
			}
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})

	t.Run("UnfinishedKeyIsNeverTakenOver", func(t *testing.T) {
		t.Parallel()
		claim := newClaim(org, "unfinished", "a")
		mustClaim(t, database, claim)
		expire(t, database, "unfinished")
		_, err := database.Pool.Exec(t.Context(), `
			UPDATE idempotency_keys SET recovery_point = 'started', response_status = NULL, response_headers = NULL,
				response_body = NULL, locked_until = now() + interval '1 hour'
			WHERE key = 'unfinished'`)
		if err != nil {
			t.Fatal(err)
		}
		outcome := mustClaim(t, database, newClaim(org, "unfinished", "a"))[0]
		if outcome.Claimed || outcome.Existing == nil {
			t.Fatalf("outcome = %+v, want the record", outcome)
		}
		err = outcome.Existing.Decide(claim.Fingerprint, "thing")
		checkCode(t, err, core.CodeKeyInProgress)
		if rest := core.AsError(err).RetryAfter; rest < 55*time.Minute || rest > time.Hour {
			t.Errorf("retry after %s, want the lock's rest of about an hour", rest)
		}
		checkCode(t, outcome.Existing.Decide(newClaim(org, "unfinished", "b").Fingerprint, "thing"), core.CodeKeyReused)
	})

	t.Run("UnknownFingerprintVersionIsNeverAMismatch", func(t *testing.T) {
		t.Parallel()
		mustClaim(t, database, newClaim(org, "version", "a"))
		_, err := database.Pool.Exec(t.Context(),
			`UPDATE idempotency_keys SET fingerprint_version = 9 WHERE key = 'version'`)
		if err != nil {
			t.Fatal(err)
		}
		claim := newClaim(org, "version", "b")
		checkCode(t, mustClaim(t, database, claim)[0].Existing.Decide(claim.Fingerprint, "thing"), core.CodeUnavailable)
	})
}

func TestClaimRaces(t *testing.T) {
	t.Parallel()
	database := setup(t)
	org := uuid.New()
	for _, state := range []string{"new", "expired"} {
		t.Run("OneOfManyClaimsA"+strings.ToUpper(state[:1])+state[1:]+"Key", func(t *testing.T) {
			t.Parallel()
			for round := range 20 {
				key := fmt.Sprintf("%s-%d", state, round)
				if state == "expired" {
					mustClaim(t, database, newClaim(org, key, "old"))
					expire(t, database, key)
				}
				if claimed := race(t, database, org, key); claimed != 1 {
					t.Fatalf("round %d: claimed %d times, want once", round, claimed)
				}
			}
		})
	}
}

// race lets several requests for one key go at once and returns how many got it.
func race(t *testing.T, database *db.DB, org uuid.UUID, key string) int {
	t.Helper()
	var claimed int
	var mu sync.Mutex
	var racers sync.WaitGroup
	start := make(chan struct{})
	for range 8 {
		racers.Go(func() {
			<-start
			results, err := claimKeys(t.Context(), database, newClaim(org, key, "a"))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("claim: %v", err)
			case results[0].Claimed:
				claimed++
			case results[0].Existing != nil && results[0].Existing.RequestID != "request-a":
				t.Errorf("existing = %q, want a record of this use", results[0].Existing.RequestID)
			}
		})
	}
	close(start)
	racers.Wait()
	return claimed
}

func checkCode(t *testing.T, err error, want core.Code) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("err = %v, want none", err)
		}
		return
	}
	if got := core.AsError(err).Code; err == nil || got != want {
		t.Errorf("err = %v, want code %s", err, want)
	}
}

// claimAtOnce claims keys in a transaction of one round trip that needs all of them.
func claimAtOnce(ctx context.Context, database *db.DB, claims ...idempotency.Claim) (
	map[uuid.UUID]idempotency.ClaimResult, error,
) {
	pending, err := db.InBatch(ctx, database, func(batch *db.Batch) *idempotency.PendingClaims {
		return idempotency.QueueRequiredClaims(batch, claims)
	})
	if err != nil {
		return nil, err
	}
	return pending.Claimed()
}

func TestRequiredClaims(t *testing.T) {
	t.Parallel()
	database := setup(t)
	org := uuid.New()

	t.Run("AllAreClaimed", func(t *testing.T) {
		t.Parallel()
		claims := []idempotency.Claim{newClaim(org, "all-1", "a"), newClaim(org, "all-2", "a")}
		results, err := claimAtOnce(t.Context(), database, claims...)
		if err != nil || !results[claims[0].ID].Claimed || !results[claims[1].ID].Claimed {
			t.Fatalf("results = %+v, %v, want both claimed", results, err)
		}
		record, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, "all-2")
		if err != nil || !found || !record.ExpiresAt.Equal(results[claims[1].ID].ExpiresAt) {
			t.Errorf("record = %+v, %v, want one that expires at %s", record, err, results[claims[1].ID].ExpiresAt)
		}
	})

	t.Run("OrNone", func(t *testing.T) {
		t.Parallel()
		mustClaim(t, database, newClaim(org, "taken", "a"))
		_, err := claimAtOnce(t.Context(), database, newClaim(org, "free", "a"), newClaim(org, "taken", "b"))
		if !db.IsUnmet(err) {
			t.Errorf("err = %v, want one of an unmet requirement", err)
		}
		if _, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, "free"); found || err != nil {
			t.Errorf("the free key: %t, %v, want none", found, err)
		}
	})

	t.Run("AKeyWhoseClaimIsNotCommittedIsNotAwaited", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			if _, err := idempotency.ClaimKey(t.Context(), tx, newClaim(org, "open", "a")); err != nil {
				return 0, err
			}
			if _, err := claimAtOnce(t.Context(), database, newClaim(org, "open", "a")); !db.IsUnmet(err) {
				t.Errorf("err = %v, want one of an unmet requirement", err)
			}
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})

	t.Run("AnExpiredKeyIsTakenOver", func(t *testing.T) {
		t.Parallel()
		mustClaim(t, database, newClaim(org, "expired", "a"))
		expire(t, database, "expired")
		claim := newClaim(org, "expired", "b")
		if results, err := claimAtOnce(t.Context(), database, claim); err != nil || !results[claim.ID].Claimed {
			t.Errorf("results = %+v, %v, want it claimed", results, err)
		}
	})
}
