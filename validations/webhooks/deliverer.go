package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

const (
	// turnFor is how long a process delivers to a webhook before it gives others their turn.
	turnFor = 30 * time.Second
	// atOnce is how many events are sent to one webhook at the same time, and perRead how many are read in advance.
	atOnce  = 16
	perRead = 64
	// places is how many webhooks a process delivers to at the same time. While others wait, one organization has half
	// of them.
	places = 256
	// storeTogether bounds the outcomes that one transaction stores, and storeWaiting those that wait for it.
	storeTogether = 128
	storeWaiting  = places * atOnce
)

// errLost means that another process has the lease.
var errLost = errors.New("the lease of the webhook is lost")

// Config says how events are sent.
type Config struct {
	// Ring opens the secrets of webhooks.
	Ring keyring.Ring
	// Allow are the networks that may be called besides the public ones.
	Allow []netip.Prefix
	// Retries are the waits between the attempts. After the last one the delivery has failed.
	Retries []time.Duration
	// Timeout bounds an attempt from the connection to the end of the answer.
	Timeout time.Duration
}

// lease is how long a webhook is leased. It is longer than an attempt, and each outcome that is stored renews it.
func (c Config) lease() time.Duration { return 2 * c.Timeout }

// Deliverer sends what is due.
type Deliverer struct {
	db       *db.DB
	cfg      Config
	policy   external.Policy
	places   *share.Places
	outcomes *coalesce.Batcher[stored, error]
	metrics  *metrics.Webhooks
	log      *slog.Logger

	// mu orders the beginning of deliveries and the stop, so that none begins unnoticed.
	mu         sync.Mutex
	delivering sync.WaitGroup
	stop       context.Context //nolint:containedctx // It ends what goes on after a job has returned.
	cancel     context.CancelFunc
}

// stored is an outcome with the delivery that it belongs to.
type stored struct {
	lease    lease
	position int64
	outcome  outcome
	// wait is how long to wait for the next try, or never.
	wait time.Duration
}

// NewDeliverer makes a Deliverer.
func NewDeliverer(database *db.DB, cfg Config, measured *metrics.Webhooks, log *slog.Logger) *Deliverer {
	d := &Deliverer{
		db: database, cfg: cfg, policy: external.NewPolicy(cfg.Allow), places: share.New(places, 0),
		metrics: measured, log: log,
	}
	d.stop, d.cancel = context.WithCancel(context.Background())
	d.outcomes = coalesce.New(coalesce.Limits{
		Batches: 1, Members: storeTogether, Weight: storeTogether, Waiting: storeWaiting, WaitingWeight: storeWaiting,
	}, func(stored) int { return 1 }, d.storeAll)
	return d
}

// Handle takes the lease of a webhook and returns: what is due is sent in the background, so that a slow receiver takes
// no slot of the workers.
func (d *Deliverer) Handle(ctx context.Context, job jobs.Job) error {
	leave, ok := d.enter(job.OrgID)
	if !ok {
		// The job counts as lost after a while, and another process may have a place by then.
		return nil
	}
	to, err := d.acquire(ctx, job)
	if err != nil || to.id == uuid.Nil {
		leave()
		return err
	}
	go func() {
		defer leave()
		d.deliver(d.stop, to)
	}()
	return nil
}

// enter takes a place, unless there is none or the process stops, and returns what gives it back.
func (d *Deliverer) enter(org uuid.UUID) (func(), bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop.Err() != nil {
		return nil, false
	}
	leave, ok := d.places.TryTake(org, 0)
	if !ok {
		return nil, false
	}
	d.delivering.Add(1)
	return func() {
		leave()
		d.delivering.Done()
	}, true
}

// Run ends the deliveries when ctx ends, and waits for them. An attempt that is under way then counts as failed.
func (d *Deliverer) Run(ctx context.Context) error {
	<-ctx.Done()
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.delivering.Wait()
	return nil
}

// deliver sends what is due to a webhook until nothing is, its turn is over, or the lease is lost.
func (d *Deliverer) deliver(ctx context.Context, to lease) {
	// Connections are kept for the turn and for no other webhook.
	client := d.policy.Client(strings.HasPrefix(to.url, "https://"), true)
	defer client.CloseIdleConnections()
	for until := time.Now().Add(turnFor); time.Now().Before(until); {
		due, err := d.due(ctx, to)
		if err == nil && len(due) > 0 {
			err = d.sendAll(ctx, client, to, due)
		}
		if errors.Is(err, errLost) {
			return
		}
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "a webhook is left for later", "org", to.orgID, "webhook", to.id, "error", err)
		}
		if err != nil || len(due) == 0 {
			break
		}
	}
	d.release(ctx, to)
}

func (d *Deliverer) sendAll(ctx context.Context, client *http.Client, to lease, due []delivery) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, one := range due {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			done := d.attempt(ctx, client, to, one.event)
			if ctx.Err() != nil {
				// The attempt was cut short by this process, which says nothing about the receiver.
				return ctx.Err()
			}
			d.metrics.Attempted(done.ok(), one.tries == 0, done.at.Sub(one.event.Timestamp.Time))
			wait := pause(d.cfg.Retries, one.tries+1, done.retryAfter)
			return d.store(ctx, stored{to, one.event.Position, done, wait})
		})
	}
	return group.Wait()
}

// store stores an outcome, together with others.
func (d *Deliverer) store(ctx context.Context, done stored) error {
	failed, err := d.outcomes.Do(context.WithoutCancel(ctx), done)
	if err != nil {
		return fmt.Errorf("wait to store an outcome: %w", err)
	}
	return failed
}

func (d *Deliverer) storeAll(ctx context.Context, done []stored) []error {
	written, err := d.write(ctx, done)
	if err == nil {
		err = errLost
	}
	results := slices.Repeat([]error{err}, len(done))
	for _, i := range written {
		results[i] = nil
	}
	return results
}

// lease is the right to deliver to a webhook for a while, with what an attempt needs.
type lease struct {
	orgID     uuid.UUID
	id        uuid.UUID
	epoch     int
	url       string
	signature api.SignatureScheme
	secrets   [][]byte
	headers   map[string]string
}

// delivery is an event that is due.
type delivery struct {
	event Event
	tries int
}
