package files

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/share"
)

const (
	// checkWait is how long a definition waits for its turn to be checked, and checkTime what its check may take. One
	// schema may take half a minute of a processor, and a gibibyte in the child process that compiles it.
	checkWait = 10 * time.Second
	checkTime = time.Minute
)

// Checks bounds how many definitions are checked at once, so that no organization's authors take the processors and the
// memory of all. The nil Checks bounds nothing: the commands check one file each.
type Checks struct {
	places     *share.Places
	wait, time time.Duration
}

// NewChecks leaves half of the processors to everything else.
func NewChecks() *Checks { return ChecksOf(max(1, runtime.NumCPU()/2), checkWait, checkTime) }

// ChecksOf makes so many places. A definition waits for one so long, and may take so long to check.
func ChecksOf(places int, wait, limit time.Duration) *Checks {
	return &Checks{places: share.New(places, 0), wait: wait, time: limit}
}

// Run does the work once the caller's organization has a place. The operator's work waits for nobody.
func (c *Checks) Run(ctx context.Context, work func(ctx context.Context) error) error {
	principal, known := core.PrincipalFrom(ctx)
	if c == nil || !known {
		return work(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, c.wait)
	leave, err := c.places.Take(waiting, principal.OrgID, 0)
	cancel()
	if err != nil {
		busy := core.Unavailable(fmt.Errorf("wait to check a workflow: %w", err))
		busy.Detail = "Many workflows are checked right now. Nothing was changed; send the same request again."
		return busy
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, c.time)
	defer cancel()
	err = work(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return core.InvalidPayload(fmt.Sprintf("The steps take longer than %s to check. Make their schemas smaller, "+
			"or spread the steps over several workflows.", c.time)).Because(err)
	}
	return err
}
