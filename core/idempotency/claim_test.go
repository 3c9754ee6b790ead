package idempotency_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const endpoint idempotency.Endpoint = "test"

// newClaim claims the key for a request that is its content, without a subject.
func newClaim(org uuid.UUID, key, content string) idempotency.Claim {
	return idempotency.Claim{
		ID: uuid.Must(uuid.NewV7()), Identity: idempotency.Identity{OrgID: org, Endpoint: endpoint, Key: key},
		Fingerprint: idempotency.Request{
			Method: http.MethodPost, Endpoint: string(endpoint), Target: "t",
			Content: idempotency.DigestBytes([]byte(content)),
		}.Fingerprint(),
		Caller: idempotency.Caller{
			Method: http.MethodPost, Path: "/", RequestID: "request-" + content, IP: netip.MustParseAddr("::1"),
			UserAgent: "test",
		},
		Lifetime: time.Hour,
		Point:    idempotency.PointFinished,
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
		results := make([]idempotency.ClaimResult, len(claims))
		for i, claim := range claims {
			var err error
			if results[i], err = idempotency.ClaimKey(ctx, tx, claim); err != nil {
				return nil, err
			}
		}
		return results, nil
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
			ID: claim.ID, Identity: claim.Identity, Fingerprint: claim.Fingerprint,
			RequestID: "request-a", Point: idempotency.PointFinished, Epoch: 1,
			ExpiresAt: outcome.ExpiresAt, Response: claim.Response,
		}
		if diff := cmp.Diff(want, record); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})

	t.Run("ExpiredKeyIsTakenOverWithNothingLeftOfTheOldUse", func(t *testing.T) {
		t.Parallel()
		old := newClaim(org, "expired", "old")
		old.Fingerprint = idempotency.Request{
			Method: http.MethodPut, Target: "old", Content: idempotency.DigestBytes([]byte("old")),
			Options: []idempotency.Option{{Name: "name", Value: "old"}},
		}.Fingerprint()
		old.Caller = idempotency.Caller{
			Method: http.MethodPut, Path: "/old", RequestID: "old", IP: netip.MustParseAddr("::2"), UserAgent: "old",
		}
		old.Response.Status, old.Response.Headers.ContentType, old.Subject = http.StatusOK, "text/old", uuid.New()
		mustClaim(t, database, old)
		expire(t, database, "expired")
		if _, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, "expired"); found || err != nil {
			t.Errorf("lookup = %t, %v, want an expired key to be absent", found, err)
		}
		if _, err := database.Pool.Exec(t.Context(), `UPDATE idempotency_keys SET attempts = 7, retry_at = now(),
			last_error = 'an old one', epoch = 8, fingerprint_version = 9 WHERE key = 'expired'`); err != nil {
			t.Fatal(err)
		}
		for _, outcome := range mustClaim(t, database, newClaim(org, "expired", "new"), newClaim(org, "new", "new")) {
			if !outcome.Claimed {
				t.Errorf("outcome = %+v, want claimed", outcome)
			}
		}
		row := func(key string) string {
			return coretest.One[string](t, database, `
				SELECT jsonb_pretty(to_jsonb(k) - 'id' - 'key') FROM idempotency_keys AS k WHERE key = $1`, key)
		}
		if diff := cmp.Diff(row("new"), row("expired")); diff != "" {
			t.Errorf("the row of a key that is taken over, beside that of a new one (-want +got):\n%s", diff)
		}
	})

	t.Run("OneNameIsAKeyForEachEndpoint", func(t *testing.T) {
		t.Parallel()
		for _, claimed := range []bool{true, false} {
			for _, content := range []string{"a", "b"} {
				claim := newClaim(org, "twice", content)
				claim.Endpoint = idempotency.Endpoint("endpoint-" + content)
				outcome := mustClaim(t, database, claim)[0]
				ofAnother := outcome.Existing == nil || outcome.Existing.RequestID != "request-"+content
				if outcome.Claimed != claimed || !claimed && ofAnother {
					t.Errorf("outcome = %+v, want claimed %t, or the record of its endpoint", outcome, claimed)
				}
				record, found, err := idempotency.Lookup(t.Context(), database, org, claim.Endpoint, "twice")
				if err != nil || !found || record.RequestID != "request-"+content {
					t.Errorf("lookup = %+v, %t, %v, want the record of its endpoint", record, found, err)
				}
			}
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

	t.Run("HeldKeysHoldUpNoOthers", func(t *testing.T) {
		t.Parallel()
		held := newClaim(org, "common", "a")
		ofAnother, forAnother, named := held, held, held
		ofAnother.OrgID, forAnother.Endpoint, named.Key = uuid.New(), "another-endpoint", "uncommon"
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			if _, err := idempotency.ClaimKey(t.Context(), tx, held); err != nil {
				return 0, err
			}
			for _, other := range []idempotency.Claim{ofAnother, forAnother, named} {
				other.ID = uuid.New()
				if outcome := mustClaim(t, database, other)[0]; !outcome.Claimed {
					t.Errorf("key %s of %s for %s = %+v, want claimed", other.Key, other.OrgID, other.Endpoint, outcome)
				}
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
		checkCode(t, err, api.CodeKeyInProgress)
		if rest := core.AsError(err).RetryAfter; rest < 55*time.Minute || rest > time.Hour {
			t.Errorf("retry after %s, want the lock's rest of about an hour", rest)
		}
		checkCode(t, outcome.Existing.Decide(newClaim(org, "unfinished", "b").Fingerprint, "thing"), api.CodeKeyReused)
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
		checkCode(t, mustClaim(t, database, claim)[0].Existing.Decide(claim.Fingerprint, "thing"), api.CodeUnavailable)
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

func checkCode(t *testing.T, err error, want api.Code) {
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

// claimGranted claims keys in one batch, takes back what refuse names, and returns what was claimed and is granted.
func claimGranted(t *testing.T, database *db.DB, refuse []uuid.UUID, claims ...idempotency.Claim) (
	map[uuid.UUID]time.Time, []uuid.UUID,
) {
	t.Helper()
	type answers struct {
		claimed *db.Future[map[uuid.UUID]time.Time]
		granted *db.Future[[]uuid.UUID]
	}
	answered, err := db.InBatch(t.Context(), database, func(batch *db.Batch) answers {
		claimed := idempotency.QueueClaims(batch, claims, nil)
		granted := db.QueueInto(batch, func(rows pgx.Rows) ([]uuid.UUID, error) {
			return pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]uuid.UUID])
		}, `SELECT `+db.GrantOnly(`ARRAY(
			SELECT g.id FROM unnest(`+db.Granted+`) AS g (id) WHERE g.id <> ALL (coalesce($1::uuid[], '{}')))`), refuse)
		idempotency.QueueWithdrawals(batch, claims)
		return answers{claimed: claimed, granted: granted}
	})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := answered.claimed.Get()
	if err != nil {
		t.Fatal(err)
	}
	granted, err := answered.granted.Get()
	if err != nil {
		t.Fatal(err)
	}
	return claimed, granted
}

// newStart is newClaim with a subject.
func newStart(org uuid.UUID, key, content string) idempotency.Claim {
	claim := newClaim(org, key, content)
	claim.Subject = uuid.New()
	return claim
}

func TestGrantedClaims(t *testing.T) {
	t.Parallel()
	database := setup(t)
	org := uuid.New()
	find := func(t *testing.T, key string) (idempotency.Record, bool) {
		t.Helper()
		record, found, err := idempotency.Lookup(t.Context(), database, org, endpoint, key)
		if err != nil {
			t.Fatal(err)
		}
		return record, found
	}

	t.Run("AreKept", func(t *testing.T) {
		t.Parallel()
		first, second := newStart(org, "all-1", "a"), newStart(org, "all-2", "a")
		claimed, granted := claimGranted(t, database, nil, first, second)
		if len(claimed) != 2 || !slices.Equal(granted, []uuid.UUID{first.Subject, second.Subject}) {
			t.Errorf("claimed = %v, granted = %v, want both", claimed, granted)
		}
		if record, found := find(t, "all-2"); !found || !record.ExpiresAt.Equal(claimed[second.ID]) {
			t.Errorf("record = %+v, want one that expires at %s", record, claimed[second.ID])
		}
	})

	t.Run("LoseTheirGrantToAnotherRequest", func(t *testing.T) {
		t.Parallel()
		mustClaim(t, database, newClaim(org, "taken", "a"))
		free, taken := newStart(org, "free", "a"), newStart(org, "taken", "b")
		claimed, granted := claimGranted(t, database, nil, free, taken)
		if _, ok := claimed[taken.ID]; ok || len(claimed) != 1 || !slices.Equal(granted, []uuid.UUID{free.Subject}) {
			t.Errorf("claimed = %v, granted = %v, want the free one", claimed, granted)
		}
		if record, found := find(t, "taken"); !found || record.RequestID != "request-a" {
			t.Errorf("record = %+v, want that of the other request", record)
		}
		claimed, granted = claimGranted(t, database, nil, newStart(org, "taken", "b"))
		if len(claimed)+len(granted) > 0 {
			t.Errorf("claimed = %v, granted = %v, want none", claimed, granted)
		}
	})

	t.Run("AreWithdrawnWithTheirGrant", func(t *testing.T) {
		t.Parallel()
		kept, refused := newStart(org, "kept", "a"), newStart(org, "refused", "a")
		claimed, granted := claimGranted(t, database, []uuid.UUID{refused.Subject}, kept, refused)
		if len(claimed) != 2 || !slices.Equal(granted, []uuid.UUID{kept.Subject}) {
			t.Errorf("claimed = %v, granted = %v, want two and one", claimed, granted)
		}
		if _, found := find(t, "refused"); found {
			t.Error("a key without its grant is remembered")
		}
		if _, found := find(t, "kept"); !found {
			t.Error("a granted key is gone")
		}
	})

	t.Run("DoNotWaitForAnUncommittedRival", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			if _, err := idempotency.ClaimKey(t.Context(), tx, newClaim(org, "open", "a")); err != nil {
				return 0, err
			}
			if claimed, _ := claimGranted(t, database, nil, newStart(org, "open", "a")); len(claimed) > 0 {
				t.Errorf("claimed = %v, want none", claimed)
			}
			return 0, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
