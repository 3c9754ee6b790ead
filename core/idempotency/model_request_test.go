package idempotency_test

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// holder is a request that drives a key. It waits in its phase, between its foreign call and its commit, until the test
// lets it go on.
type holder struct {
	use   uuid.UUID
	epoch int

	stops chan idempotency.Record
	goOn  chan error
	ended chan ending
}

// stop waits until the test lets the holder go on, or ends.
func (h *holder) stop(ctx context.Context, record idempotency.Record) error {
	select {
	case h.stops <- record:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-h.goOn:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ending is the result of a request.
type ending struct {
	record idempotency.Record
	err    error
}

type holderKey struct{}

// wantEnd waits for the end of a request, which is an answer or a refusal.
func (h *holder) wantEnd(t *rapid.T, answer string, code api.Code) {
	end := <-h.ended
	if code == "" && (end.err != nil || string(end.record.Response.Body) != answer) {
		t.Fatalf("answer = %s, %v, want %s", end.record.Response.Body, end.err, answer)
	}
	if code != "" && (end.err == nil || core.AsError(end.err).Code != code) {
		t.Fatalf("error = %v, want %s", end.err, code)
	}
}

// phase lets its holder wait after the foreign call, and leaves one row behind. The completer never waits; it may fail.
func (w *world) phase(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
	if h, ok := ctx.Value(holderKey{}).(*holder); ok {
		if err := h.stop(ctx, record); err != nil {
			return nil, err
		}
	} else if record.Point == w.failing {
		return nil, errForeign
	}
	next := path()[slices.Index(path(), record.Point)+1]
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		_, err := tx.Exec(ctx, `INSERT INTO effects (key_id, point) VALUES ($1, $2)`, record.ID, record.Point)
		if next != idempotency.PointFinished {
			return idempotency.Reach(next), err
		}
		return idempotency.Respond(idempotency.Response{
			Status: http.StatusCreated, Body: []byte(answerOf(record.ID, record.Epoch)),
		}), err
	}, nil
}

// send does what a request of several phases does. A late request has looked up the key before another one claimed it,
// and found nothing.
func (w *world) send(ctx context.Context, claim idempotency.Claim, late bool) (idempotency.Record, error) {
	record, err := w.existing(ctx, claim, late)
	if err != nil {
		return idempotency.Record{}, err
	}
	if record.ID == claim.ID {
		return w.engine.Drive(ctx, w.flow, record)
	}
	err = record.Decide(claim.Fingerprint, "thing")
	if err == nil || !record.Abandoned() || core.AsError(err).Code != api.CodeKeyInProgress {
		return record, err
	}
	return w.engine.Resume(ctx, w.flow, record)
}

// existing returns the key's record: the one of its first request, or the one that the claim has made.
func (w *world) existing(ctx context.Context, claim idempotency.Claim, late bool) (idempotency.Record, error) {
	if !late {
		record, found, err := idempotency.Lookup(ctx, w.db, claim.OrgID, claim.Endpoint, claim.Key)
		if err != nil || found {
			return record, err
		}
	}
	taken, err := claimKeys(ctx, w.db, claim)
	switch {
	case err != nil:
		return idempotency.Record{}, err
	case taken[0].Claimed:
		return claim.Record(taken[0].ExpiresAt), nil
	case taken[0].Existing != nil:
		return *taken[0].Existing, nil
	default:
		return idempotency.Record{}, idempotency.InProgress(0)
	}
}
