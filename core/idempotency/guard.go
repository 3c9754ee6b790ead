package idempotency

import (
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// HeaderWarning warns a client that its key came under another name and was ignored.
const HeaderWarning = "Idempotency-Warning"

// Recorder records what keys are used for, so that people can see it. Its methods return at once and cannot fail.
type Recorder interface {
	// Repeated records a request whose key another request had before: err is nil for a replay, or the refusal. The
	// record is nil while the other's claim is not committed.
	Repeated(orgID uuid.UUID, record *Record, err error)
	// Misnamed records a request whose key came under another name.
	Misnamed(orgID uuid.UUID)
	// Accepted records a request that did its work, and how long it took from its arrival to its answer.
	Accepted(orgID uuid.UUID, took time.Duration)
}

// Guard protects routes that create something. Put Keyed or KeyOptional on the route, and hand the view's work to Once.
type Guard struct {
	db *db.DB
	// lifetime is how long a key is remembered where its organization has no lifetime of its own.
	lifetime   time.Duration
	operations Operations
	recorder   Recorder
	metrics    *metrics.Keys
}

// NewGuard makes a Guard. The recorder gets every use of a key, the metrics their sums.
func NewGuard(
	database *db.DB, lifetime time.Duration, operations Operations, recorder Recorder, measured *metrics.Keys,
) *Guard {
	return &Guard{db: database, lifetime: lifetime, operations: operations, recorder: recorder, metrics: measured}
}

// Answer answers a request with the fingerprint from a key that is there: with the stored response, or with a refusal.
// It records the repetition.
func (g *Guard) Answer(record Record, fingerprint Fingerprint) (Answer, error) {
	err := record.Decide(fingerprint, g.operations.Target(record.Endpoint))
	g.recorder.Repeated(record.OrgID, &record, err)
	if err != nil {
		return Answer{}, err
	}
	return ReplayOf(record), nil
}

// InFlight refuses a request whose key another transaction holds right now. It records the repetition.
func (g *Guard) InFlight(orgID uuid.UUID) error {
	err := InProgress(0)
	g.recorder.Repeated(orgID, nil, err)
	return err
}

// Accepted records a request that did its work, and how long it took from its arrival. Call it for the operations whose
// times people want to see.
func (g *Guard) Accepted(orgID uuid.UUID, took time.Duration) {
	g.recorder.Accepted(orgID, took)
}

// Lifetime returns how long a key of the principal's organization is remembered: the organization's own lifetime, or
// the one of the installation.
func (g *Guard) Lifetime(principal core.Principal) time.Duration {
	if principal.KeyLifetime > 0 {
		return principal.KeyLifetime
	}
	return g.lifetime
}

// Keyed is KeyOptional, and refuses requests without a key where the organization requires one.
func (g *Guard) Keyed(next echo.HandlerFunc) echo.HandlerFunc {
	return g.KeyOptional(func(c echo.Context) error {
		principal, err := core.Caller(c)
		if err != nil {
			return err
		}
		if principal.KeyRequired && !KeyFrom(c.Request().Context()).Given {
			return keyRequired(misnamedKey(c.Request()))
		}
		return next(c)
	})
}

// KeyOptional refuses a key that is not well formed before the view. A key under a name that is often mistaken for the
// right one protects nothing, so its answer carries a warning.
func (g *Guard) KeyOptional(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key, isRead := c.Request().Context().Value(keyKey{}).(requestKey)
		if !isRead {
			return errKeyNotRead
		}
		if key.err != nil {
			g.metrics.Request(metrics.OutcomeInvalid)
			return key.err
		}
		principal, err := core.Caller(c)
		if err != nil {
			return err
		}
		if misnamed := misnamedKey(c.Request()); !key.Given && misnamed != "" {
			g.recorder.Misnamed(principal.OrgID)
			c.Response().Header().Set(HeaderWarning, misnamed+" is not recognized; send "+Header)
		}
		err = next(c)
		g.metrics.Request(outcomeOf(key.Given, c.Response().Header(), err))
		return err
	}
}

// outcomeOf derives the outcome of a request, with a well-formed key or without one, from its answer.
func outcomeOf(given bool, answer http.Header, err error) metrics.Outcome {
	switch {
	case !given:
		return metrics.OutcomeAbsent
	case err == nil && answer.Get(HeaderReplayed) != "":
		return metrics.OutcomeReplayed
	case err == nil && answer.Get(HeaderOriginal) != "":
		return metrics.OutcomeResumed
	case err == nil:
		return metrics.OutcomeNew
	}
	switch core.AsError(err).Code {
	case api.CodeKeyReused:
		return metrics.OutcomeMismatch
	case api.CodeKeyInProgress:
		return metrics.OutcomeInProgress
	default:
		return metrics.OutcomeRefused
	}
}

// misnamedKey returns the wrong header in which the request probably carries a key, or "". Such a client believes that
// its retries are safe.
func misnamedKey(r *http.Request) string {
	for _, name := range []string{"X-Idempotency-Key", "Idempotency_Key", "X-Idempotency-Token", "Idempotence-Key"} {
		if r.Header.Get(name) != "" {
			return name
		}
	}
	return ""
}

// keyRequired refuses a request without a key. It names the misnamed one, because its client believes to have sent it.
func keyRequired(misnamed string) *core.Error {
	detail := "Your organization requires an Idempotency-Key header on requests that create something. " +
		"Make a new key for each thing to be created, and send it again with every retry."
	if misnamed != "" {
		detail += " The request has " + misnamed + ", which is not recognized."
	}
	err := core.NewError(api.CodeKeyRequired, detail)
	err.Fields = []api.FieldError{{Parameter: Header, Code: "required", Detail: "must be given"}}
	return err
}
