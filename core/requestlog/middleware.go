package requestlog

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/netip"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const (
	// digestedBody is the largest body whose digest is computed.
	digestedBody = 1 << 20
	// maxPath is how many characters of a path are kept.
	maxPath = 500
)

// Describe says what only the routes know of a request that was answered.
type Describe struct {
	// Logs reports whether the request belongs into the log if it is an organization's.
	Logs func(c echo.Context) bool
	// Endpoint is the operation of the route; "" for a route that takes no keys.
	Endpoint func(c echo.Context) idempotency.Endpoint
	// Run is the run that the request has started or is about; the zero UUID where there is none.
	Run func(c echo.Context) uuid.UUID
	// Token is the digest of the request's token, if it has one.
	Token func(header http.Header) (Digest, bool)
}

// Record returns the observer that collects requests.
func (l *Log) Record(describe Describe) core.Observer {
	return func(c echo.Context) func(core.Observed) {
		if isRead(c.Request().Method) || !describe.Logs(c) {
			return nil
		}
		body := core.WatchBody(c.Request())
		if length := c.Request().ContentLength; length != 0 && length <= digestedBody {
			body.Sum = sha256.New()
		}
		return func(seen core.Observed) { l.record(c, describe, body, seen) }
	}
}

// isRead reports whether requests of the method change nothing.
func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

func (l *Log) record(c echo.Context, describe Describe, body *core.WatchedBody, seen core.Observed) {
	ctx := c.Request().Context()
	entry := Entry{
		At: seen.At, Took: seen.Took, Status: seen.Status, Endpoint: describe.Endpoint(c),
		Replayed: c.Response().Header().Get(idempotency.HeaderReplayed) != "",
	}
	problem := seen.Refusal
	if problem != nil {
		entry.Status = core.Spec(problem.Code).Status
	} else {
		problem = core.RefusalOf(c) // A page may have shown its refusal itself.
	}
	if problem != nil {
		entry.Code = problem.Code
	}
	if principal, known := core.PrincipalFrom(ctx); known && principal.OrgID != uuid.Nil {
		entry.OrgID, entry.TokenID = principal.OrgID, principal.TokenID
		if entry.Code != "" {
			l.count(entry)
		}
		if l.admit(entry.OrgID, entry.Replayed && entry.Code == "") {
			entry.complete(c, describe, body, problem)
			l.add(entry)
		}
		return
	}
	// A token that was revoked or has expired still identifies the organization.
	token, given := describe.Token(c.Request().Header)
	if given && entry.Code != "" && l.admit(uuid.Nil, false) {
		entry.complete(c, describe, body, problem)
		l.addUnidentified(entry, token)
	}
}

// complete fills in what only the log itself needs.
func (e *Entry) complete(c echo.Context, describe Describe, body *core.WatchedBody, problem *core.Error) {
	request, answer := c.Request(), c.Response().Header()
	e.Method = request.Method
	e.Path = core.StorableUpTo(request.URL.EscapedPath(), maxPath)
	e.Key = idempotency.KeyFrom(request.Context()).Value
	// An address that cannot be parsed stays zero, which means that it is not known.
	e.Address, _ = netip.ParseAddr(c.RealIP())
	e.Address = e.Address.WithZone("")
	e.RequestID = core.RequestID(request.Context())
	e.OriginalRequestID = answer.Get(idempotency.HeaderOriginal)
	e.RunID = describe.Run(c)
	e.Headers = keep(request.Header)
	e.BodySize, e.BodyDigest = body.Size, digest(body)
	if problem == nil {
		return
	}
	shown := problem.Problem(e.RequestID)
	e.Problem = &shown
	if e.OriginalRequestID == "" {
		e.OriginalRequestID = problem.OriginalRequestID
	}
	if id, ok := core.ParseID(problem.RunID); ok {
		e.RunID = id
	}
}

// digest is that of the body, where it was read to its end and is not large.
func digest(body *core.WatchedBody) *Digest {
	if body.Sum == nil || body.Size > digestedBody || !errors.Is(body.Err, io.EOF) {
		return nil
	}
	var sum Digest
	body.Sum.Sum(sum[:0])
	return &sum
}
