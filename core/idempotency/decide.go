package idempotency

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// minRetryAfter is how long a client waits at least where only a commit is in flight.
const minRetryAfter = time.Second

// errFingerprintVersion means that another release of the service wrote the key.
var errFingerprintVersion = errors.New("the key's fingerprint has a version that this release does not know")

// Decide decides what a request with the fingerprint gets from a key that is already there: nil means a replay of the
// record's response. It compares fingerprints before it looks at the lock, so that reuse is refused at once and not
// retried. The target is the noun that a refusal uses. An absent record must not be passed in.
func (r Record) Decide(fingerprint Fingerprint, target string) error {
	if r.Fingerprint.Version != fingerprint.Version {
		// During a deployment both releases run. A comparison would call the same request a mismatch.
		return core.Unavailable(fmt.Errorf("key %s: %w (%d)", r.ID, errFingerprintVersion, r.Fingerprint.Version))
	}
	if r.Fingerprint.Sum != fingerprint.Sum {
		return reused(fingerprint.Differs(r.Fingerprint, target), r.RequestID)
	}
	if !r.Finished() {
		return InProgress(r.LockTTL)
	}
	return nil
}

// Absent reports whether the record counts as not there. An unfinished request is never absent, however old it is,
// because its effects outside of the database may have happened.
func (r Record) Absent() bool {
	return r.Finished() && r.Expired
}

// InProgress returns the refusal of a request whose key is locked by another request for about the given time.
// The client is asked to wait as long, but a second at least.
func InProgress(lockTTL time.Duration) *core.Error {
	err := core.NewError(api.CodeKeyInProgress, "A request with this idempotency key is currently being processed.")
	err.RetryAfter = max(lockTTL, minRetryAfter)
	return err
}

// reused refuses a key that was used for another request. The first request's id helps to find it; its content stays
// hidden, because another client of the organization may have sent it.
func reused(differs []string, originalRequestID string) *core.Error {
	with := "a different request body"
	if !slices.Contains(differs, "content") {
		with = strings.NewReplacer(
			"workflow", "another workflow or version", "run", "another run", "webhook", "another webhook",
			"target", "another target",
			"options", "other options (name, file name, short description or metadata)",
		).Replace(strings.Join(differs, " and "))
	}
	err := core.NewError(api.CodeKeyReused, "Idempotency key has already been used with "+with+".")
	err.Differs = differs
	err.OriginalRequestID = originalRequestID
	return err
}
