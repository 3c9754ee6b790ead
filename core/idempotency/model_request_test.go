package idempotency_test

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// holder is a request that drives a key. It stands still in its phase, after what it has called outside and
// before it writes, until it is told how to go on.
type holder struct {
	use   uuid.UUID
	epoch int

	stops chan idempotency.Record
	goOn  chan error
	ended chan holding
}

// stop waits to be told how to go on, or for the end of the test.
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

// holding is what a request came to.
type holding struct {
	record idempotency.Record
	err    error
}

type holderKey struct{}

// wantEnd waits for the end of a request, which is an answer or a refusal.
func (h *holder) wantEnd(t *rapid.T, answer string, code core.Code) {
	end := <-h.ended
	if code == "" && (end.err != nil || string(end.record.Response.Body) != answer) {
		t.Fatalf("answer = %s, %v, want %s", end.record.Response.Body, end.err, answer)
	}
	if code != "" && (end.err == nil || core.AsError(end.err).Code != code) {
		t.Fatalf("error = %v, want %s", end.err, code)
	}
}

// phase lets its holder stand still where the answer from outside is there, and leaves one row behind. The
// completer never stands still; it may fail.
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

// send is what a request does whose operation has several phases. One that comes late has looked the key up
// before somebody else claimed it, and found nothing.
func (w *world) send(ctx context.Context, claim idempotency.Claim, late bool) (idempotency.Record, error) {
	record, err := w.existing(ctx, claim, late)
	if err != nil {
		return idempotency.Record{}, err
	}
	if record.ID == claim.ID {
		return w.engine.Drive(ctx, w.flow, record)
	}
	err = record.Decide(claim.Fingerprint, "thing")
	if err == nil || !record.Abandoned() || core.AsError(err).Code != core.CodeKeyInProgress {
		return record, err
	}
	return w.engine.Resume(ctx, w.flow, record)
}

// existing returns the key's record: that of its first request, or the one that the claim has made.
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
