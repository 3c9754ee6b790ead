package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// courier is a foreign service that delivers a parcel once for each key.
type courier struct {
	delivered map[string]bool
}

func (c *courier) deliver(_ context.Context, key string) error {
	if key == "" {
		return errors.New("a parcel is delivered under a key")
	}
	c.delivered[key] = true
	return nil
}

// parcelFlow is all that a new endpoint of several phases needs besides its claim: what to do from each recovery point,
// first the foreign call under a derived key and then the transaction that stores its result.
func parcelFlow(outside *courier) idempotency.Flow {
	return idempotency.Flow{Endpoint: "parcel_send", Phases: map[idempotency.Point]idempotency.Phase{
		"packed": func(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
			if err := outside.deliver(ctx, record.DerivedKey("deliver")); err != nil {
				return nil, err
			}
			return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
				_, err := tx.Exec(ctx, `INSERT INTO parcels (id) VALUES ($1)`, record.ID)
				return idempotency.Reach("delivered"), err
			}, nil
		},
		"delivered": func(context.Context, idempotency.Record) (idempotency.Transition, error) {
			return func(context.Context, db.Tx) (idempotency.Outcome, error) {
				return idempotency.Respond(idempotency.Response{
					Status: http.StatusCreated, Headers: idempotency.ResponseHeaders{ContentType: "application/json"},
					Body: []byte(`{"sent": true}`),
				}), nil
			}, nil
		},
	}}
}

// TestNewEndpoint shows how a new endpoint of two phases is added: a flow, a claim whose Point is the first recovery
// point in the transaction that makes the request's own rows, Drive for the request, Resume for its retry. Hand the
// flow to NewCompleter too, and requests whose client never comes back are finished.
func TestNewEndpoint(t *testing.T) {
	t.Parallel()
	database, outside := setup(t), &courier{delivered: make(map[string]bool)}
	if _, err := database.Pool.Exec(t.Context(), `CREATE TABLE parcels (id uuid PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	engine := idempotency.NewEngine(database, idempotency.EngineConfig{Lock: time.Minute}, metrics.New("").Keys,
		slog.New(slog.DiscardHandler))
	flow := parcelFlow(outside)

	claim := newClaim(uuid.New(), "parcel-1", "a parcel")
	claim.Endpoint, claim.Point, claim.Lock = flow.Endpoint, "packed", engine.Lock()
	claim.Response = idempotency.Response{}
	taken := mustClaim(t, database, claim)[0]
	finished, err := engine.Drive(t.Context(), flow, claim.Record(taken.ExpiresAt))
	if err != nil {
		t.Fatalf("drive: %v", err)
	}

	stored, found, err := idempotency.Lookup(t.Context(), database, claim.OrgID, flow.Endpoint, claim.Key)
	if err != nil || !found || !stored.Finished() {
		t.Fatalf("lookup = %+v, %t, %v, want it finished", stored, found, err)
	}
	if got, want := string(stored.Response.Body), string(finished.Response.Body); got != want {
		t.Errorf("stored body = %s, want %s", got, want)
	}
	if key := "sv-deliver-" + claim.ID.String(); !outside.delivered[key] || len(outside.delivered) != 1 {
		t.Errorf("delivered = %v, want only %s", outside.delivered, key)
	}
}
