package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Operation is what a request does once. Two requests are the same when all of it is.
type Operation struct {
	Endpoint Endpoint
	// Target is what the operation is about, such as the id of the workflow that gets a new version.
	Target string
	// Content is the digest of the request's body by meaning.
	Content Digest
}

// Work does an operation inside the transaction that also claims its key, and returns the answer. It may run more than
// once, as in db.InTx, so it touches nothing but the transaction.
type Work func(ctx context.Context, tx db.GormTx) (Response, error)

// pointClaimed is the recovery point of a key whose work is under way. It never outlives the transaction.
const pointClaimed Point = "claimed"

// onceTimeout bounds the transaction of an operation.
const onceTimeout = 15 * time.Second

// workResult is the result of an operation's transaction.
type workResult struct {
	claim ClaimResult
	// answer is the answer of the work. It is set only when the key was claimed.
	answer Answer
}

// Once does the work of a request exactly once and answers it: with the work's response, with the stored response when
// the same request was answered before, or with a refusal. Without a key it simply does the work. Call it when the
// caller is authorized and the request is read, because a replay checks neither.
//
// Under a key the work goes on when the client hangs up, for 15 seconds at most. A refusal is api.CodeKeyReused for
// another request under the same key, and api.CodeKeyInProgress while the first one is not finished. An error of the
// work leaves no key behind. After api.CodeOutcomeUnknown only the same request under the same key is safe.
func (g *Guard) Once(c echo.Context, operation Operation, work Work) error {
	answer, err := g.Do(c, KeyFrom(c.Request().Context()), operation, work)
	if err != nil {
		return err
	}
	return answer.Write(c)
}

// Do is Once for views that read the key from elsewhere, such as a form, and write the answer in a form of their own.
func (g *Guard) Do(c echo.Context, key Key, operation Operation, work Work) (Answer, error) {
	ctx := c.Request().Context()
	principal, err := core.Caller(c)
	if err != nil {
		return Answer{}, err
	}
	if !key.Given {
		response, err := g.unkeyed(ctx, work)
		return Answer{Response: response}, err
	}
	return g.once(ctx, g.newClaim(c, principal, key, operation), work)
}

// unkeyed does the work of a request without a key, as often as it is sent.
func (g *Guard) unkeyed(ctx context.Context, work Work) (Response, error) {
	response, err := db.InGormTx(ctx, g.db, func(tx db.GormTx) (Response, error) { return work(ctx, tx) })
	if err != nil {
		return Response{}, workError(err, false)
	}
	return response, nil
}

// newClaim makes the claim of an operation. No other transaction ever sees its recovery point and lock: when this one
// ends, the key is finished or gone.
func (g *Guard) newClaim(c echo.Context, principal core.Principal, key Key, operation Operation) Claim {
	caller := CallerOf(c)
	return Claim{
		ID: core.NewID(), Caller: caller,
		Identity: Identity{OrgID: principal.OrgID, Endpoint: operation.Endpoint, Key: key.Value},
		Fingerprint: Request{
			Method: caller.Method, Endpoint: string(operation.Endpoint), Target: operation.Target,
			MediaType: "application/json", Content: operation.Content,
		}.Fingerprint(),
		Lifetime: g.Lifetime(principal), Point: pointClaimed, Lock: time.Minute,
	}
}

// once answers from the key where it is there, and otherwise does the work under a claim. The look-up before the claim
// keeps replays, which are most repetitions, free of a transaction.
func (g *Guard) once(ctx context.Context, claim Claim, work Work) (Answer, error) {
	// A client that hangs up does not cancel the work: a COMMIT that is cut off would have an unknown outcome.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), onceTimeout)
	defer cancel()
	record, found, err := Lookup(ctx, g.db, claim.OrgID, claim.Endpoint, claim.Key)
	if err != nil {
		return Answer{}, core.Unavailable(err)
	}
	if found {
		return g.Answer(record, claim.Fingerprint)
	}
	done, err := db.InGormTx(ctx, g.db, func(tx db.GormTx) (workResult, error) {
		return workUnder(ctx, tx, claim, work)
	})
	switch {
	case err != nil:
		return Answer{}, workError(err, true)
	case done.claim.Claimed:
		return done.answer, nil
	case done.claim.Existing != nil:
		return g.Answer(*done.claim.Existing, claim.Fingerprint)
	default:
		return Answer{}, g.InFlight(claim.OrgID)
	}
}

// workUnder claims the key, does the work and stores its response, all in one transaction.
func workUnder(ctx context.Context, tx db.GormTx, claim Claim, work Work) (workResult, error) {
	result, err := ClaimKey(ctx, tx.Tx, claim)
	if err != nil || !result.Claimed {
		return workResult{claim: result}, err
	}
	response, err := work(ctx, tx)
	if err != nil {
		return workResult{}, err
	}
	finished, err := storeOutcome(ctx, tx.Tx, claim.Record(result.ExpiresAt), Respond(response))
	if err != nil {
		return workResult{}, err
	}
	return workResult{claim: result, answer: Answer{Response: response, ExpiresAt: finished.ExpiresAt}}, nil
}

// workError translates the failure of a transaction into what the client may do about it.
func workError(cause error, keyed bool) error {
	if db.IsContention(cause) {
		return core.Unavailable(cause)
	}
	if !errors.Is(cause, db.ErrOutcomeUnknown) {
		return cause
	}
	advice := "Look for it before you repeat the request; with an Idempotency-Key it could be retried."
	if keyed {
		advice = "Send the same request with the same key again: " +
			"it makes the change or answers as the first one was answered."
	}
	err := core.NewError(api.CodeOutcomeUnknown, "It is not known whether the change was made. "+advice)
	err.RetryAfter, err.Retryable = minRetryAfter, keyed
	return err.Because(fmt.Errorf("do an operation once: %w", cause))
}
