package idempotency

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// HeaderWarning tells a client that its key was not understood, because it came under another name.
const HeaderWarning = "Idempotency-Warning"

// Key is what a request says about its idempotency key.
type Key struct {
	Value string
	// Given is false when the request has no key.
	Given bool
}

type keyKey struct{}

// KeyFrom returns the key of a request on a route with Guard.Keyed or Guard.KeyOptional.
func KeyFrom(ctx context.Context) Key {
	key, _ := ctx.Value(keyKey{}).(Key)
	return key
}

// Guard protects routes that create something. Keyed or KeyOptional goes to the route; the view then hands its work
// to Once.
type Guard struct {
	db *db.DB
	// lifetime is how long a key is remembered where its organization has not said otherwise.
	lifetime   time.Duration
	operations Operations
	activity   *Activity
	figures    *metrics.Keys
}

// NewGuard makes a Guard that counts what keys are asked for: one by one in the activity, and all together in the
// figures.
func NewGuard(database *db.DB, lifetime time.Duration, operations Operations, activity *Activity, figures *metrics.Keys) *Guard {
	return &Guard{db: database, lifetime: lifetime, operations: operations, activity: activity, figures: figures}
}

// Answer answers a request with the fingerprint from a key that is there: with its response, or with the
// refusal that its state asks for. It is counted.
func (g *Guard) Answer(record Record, fingerprint Fingerprint) (Answer, error) {
	err := record.Decide(fingerprint, g.operations.Target(record.Endpoint))
	g.activity.note(record.OrgID, &record, err)
	if err != nil {
		return Answer{}, err
	}
	return ReplayOf(record), nil
}

// InFlight refuses a request whose key another transaction holds right now. It is counted.
func (g *Guard) InFlight(orgID uuid.UUID) error {
	err := InProgress(0)
	g.activity.note(orgID, nil, err)
	return err
}

// Started counts a start that was no repetition, and how long it took from the arrival of its request.
func (g *Guard) Started(orgID uuid.UUID, took time.Duration) {
	g.activity.noteStart(orgID, took)
}

// Lifetime is how long a key of the principal's organization is remembered.
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

// KeyOptional reads the request's key before the view. A key that is not well formed is refused. A key under a
// name that is often mistaken for the right one is answered with a warning: it protects nothing.
func (g *Guard) KeyOptional(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		value, given, err := ParseKey(c.Request().Header)
		if err != nil {
			g.figures.Request(metrics.OutcomeInvalid)
			return err
		}
		principal, err := core.Caller(c)
		if err != nil {
			return err
		}
		if misnamed := misnamedKey(c.Request()); !given && misnamed != "" {
			g.activity.noteMisnamed(principal.OrgID)
			c.Response().Header().Set(HeaderWarning, misnamed+" is not understood; send "+Header)
		}
		ctx := context.WithValue(c.Request().Context(), keyKey{}, Key{Value: value, Given: given})
		c.SetRequest(c.Request().WithContext(ctx))
		err = next(c)
		g.figures.Request(outcomeOf(given, c.Response().Header(), err))
		return err
	}
}

// outcomeOf tells by its answer what a request with a well-formed key, or without one, has come to.
func outcomeOf(given bool, answer http.Header, err error) metrics.Outcome {
	switch {
	case !given:
		return metrics.OutcomeAbsent
	case err == nil && answer.Get(headerReplayed) != "":
		return metrics.OutcomeReplayed
	case err == nil && answer.Get(headerOriginal) != "":
		return metrics.OutcomeResumed
	case err == nil:
		return metrics.OutcomeNew
	}
	switch core.AsError(err).Code {
	case core.CodeKeyReused:
		return metrics.OutcomeMismatch
	case core.CodeKeyInProgress:
		return metrics.OutcomeInProgress
	default:
		return metrics.OutcomeRefused
	}
}

// misnamedKey returns the name under which the request carries what is probably meant to be a key.
func misnamedKey(r *http.Request) string {
	for _, name := range []string{"X-Idempotency-Key", "Idempotency_Key", "X-Idempotency-Token", "Idempotence-Key"} {
		if r.Header.Get(name) != "" {
			return name
		}
	}
	query := r.URL.Query()
	misnamed := slices.IndexFunc(keyParameters(), func(name string) bool { return hasParameter(query, name) })
	if misnamed < 0 {
		return ""
	}
	return "?" + keyParameters()[misnamed] + "="
}

func keyParameters() []string {
	return []string{"idempotency_key", "idempotency-key", "Idempotency-Key", "idempotencyKey"}
}

func hasParameter(query url.Values, name string) bool {
	return query.Get(name) != ""
}

func keyRequired(misnamed string) *core.Error {
	detail := "Your organization requires an Idempotency-Key header on requests that create something. " +
		"Make a new key for each thing to be created, and send it again with every retry."
	if misnamed != "" {
		detail += " The request has " + misnamed + ", which is not understood."
	}
	err := core.NewError(core.CodeKeyRequired, detail)
	err.Fields = []core.FieldError{{Parameter: Header, Code: "required", Detail: "must be given"}}
	return err
}
