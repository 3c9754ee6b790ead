package random

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/coretest/chaos/requests"
)

const (
	// mostCopies is how often a request is sent at once at most.
	mostCopies = 6
	// answerPatience is how long a polite client waits for an answer.
	answerPatience = 8 * time.Second
)

// manner is how a client behaves, for so many of a hundred orders.
type manner struct {
	name    string
	percent int
	act     func(v *virtual, ctx context.Context, wanted *requests.Order)
}

func manners() []manner {
	return []manner{
		{"polite", 52, (*virtual).polite},
		{"impatient", 14, (*virtual).impatient},
		{"doubling", 12, (*virtual).doubling},
		{"abandoning", 6, (*virtual).abandoning},
		{"changing", 6, (*virtual).changing},
		{"late", 5, (*virtual).late},
		{"attacking", 5, (*virtual).attacking},
	}
}

// virtual is a client that does one thing after the other, each for some organization.
type virtual struct {
	*crowd

	number, orders int
	random         *rand.Rand
}

// crowd is all clients.
type crowd struct {
	*stage

	history *requests.History
	// stop is closed when no order is begun any more.
	stop chan struct{}
	open sync.WaitGroup

	mu sync.Mutex // guards what follows
	// given are the orders that clients gave up because they got no definite answer to the end.
	given []*requests.Order
	acts  map[string]int
}

// start starts the clients. What they insist on goes on until the context ends.
func (c *crowd) start(ctx context.Context, seed uint64, kept units) {
	for n := range c.profile.clients {
		if !kept.has(fmt.Sprint("c", n)) {
			continue
		}
		v := &virtual{crowd: c, number: n, random: rand.New(rand.NewPCG(seed, uint64(n)))}
		c.open.Go(func() { v.work(ctx) })
	}
}

func (v *virtual) work(ctx context.Context) {
	for v.pause(ctx, rand.N(v.profile.pace)) {
		face := v.random.IntN(100)
		for _, m := range manners() {
			if face -= m.percent; face < 0 {
				v.note(m.name)
				m.act(v, ctx, v.order(m.name))
				break
			}
		}
	}
}

func (c *crowd) note(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acts[name]++
}

// pause reports false when there is to be no further order.
func (c *crowd) pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		select {
		case <-c.stop:
			return false
		default:
			return true
		}
	case <-c.stop:
		return false
	case <-ctx.Done():
		return false
	}
}

// order makes a new order of a random organization: the first ones are twice as busy as the next.
func (v *virtual) order(who string) *requests.Order {
	v.orders++
	share := v.random.Float64()
	chosen := int(share * share * float64(len(v.orgs)))
	return &requests.Order{
		Who: who, Org: chosen, Document: "A", Server: v.random.IntN(2),
		Key: fmt.Sprintf("%s-%d-%d", v.orgs[chosen].Slug, v.number, v.orders),
	}
}

// send sends an order with the client package, so often at most.
func (v *virtual) send(ctx context.Context, wanted *requests.Order, attempts int, patience time.Duration) error {
	o := v.orgs[wanted.Org]
	_, err := o.client.With(client.WithRetries(client.Retries{
		Attempts: attempts, MinWait: 30 * time.Millisecond, MaxWait: time.Second, Budget: time.Minute,
		Attempt: patience,
	})).Start(requests.WithOrder(ctx, wanted), client.StartRequest{
		Workflow: o.workflow, Key: wanted.Key, MediaType: "application/json", Filename: wanted.Key + ".json",
		Content: bytes.NewReader(fmt.Appendf(nil, `{"key": %q, "document": %q}`, wanted.Key, wanted.Document)),
	})
	return err
}

// insist sends an order until the answer is definite, and reports whether a run was started.
func (v *virtual) insist(ctx context.Context, wanted *requests.Order) bool {
	for {
		err := v.send(ctx, wanted, 4, answerPatience)
		refused, _ := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			v.giveUp(wanted)
			return false
		case refused != nil && !refused.Retryable:
			return false
		}
		select {
		case <-time.After(rand.N(retryPace)):
		case <-ctx.Done():
		}
	}
}

func (c *crowd) giveUp(wanted *requests.Order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = append(c.given, wanted)
}

// retryPace is how long a client waits at most before it calls the package again.
const retryPace = 300 * time.Millisecond

// polite is a client as it should be, which sometimes asks again or looks at a run.
func (v *virtual) polite(ctx context.Context, wanted *requests.Order) {
	if !v.insist(ctx, wanted) {
		return
	}
	if v.random.IntN(3) == 0 {
		v.insist(ctx, wanted)
	}
	if v.random.IntN(3) == 0 {
		v.look(ctx, wanted.Org, false)
	}
}

// impatient hangs up after a moment and sends again at once.
func (v *virtual) impatient(ctx context.Context, wanted *requests.Order) {
	for range 6 {
		if v.send(ctx, wanted, 1, v.moment()) == nil {
			return
		}
	}
	v.insist(ctx, wanted)
}

// moment is how long somebody waits who cannot wait.
func (v *virtual) moment() time.Duration {
	return time.Duration(2+v.random.IntN(200)) * time.Millisecond
}

// doubling sends copies of one request at once to different servers, as balancers do that retry.
func (v *virtual) doubling(ctx context.Context, wanted *requests.Order) {
	var copies sync.WaitGroup
	for range 2 + v.random.IntN(mostCopies-1) {
		copies.Go(func() { _ = v.send(ctx, wanted, 1, answerPatience) }) // The history has it.
	}
	copies.Wait()
	v.insist(ctx, wanted)
}

// abandoning hangs up and never comes back.
func (v *virtual) abandoning(ctx context.Context, wanted *requests.Order) {
	_ = v.send(ctx, wanted, 1, v.moment()/4) // The history has it.
}

// changing sends another document under the same key.
func (v *virtual) changing(ctx context.Context, wanted *requests.Order) {
	v.insist(ctx, wanted)
	other := &requests.Order{Who: wanted.Who, Org: wanted.Org, Key: wanted.Key, Document: "B"}
	_ = v.send(ctx, other, 3, answerPatience) // The history has it.
}

// late comes back when the key has just expired, or is just about to.
func (v *virtual) late(ctx context.Context, wanted *requests.Order) {
	if !v.insist(ctx, wanted) {
		return
	}
	for range 4 {
		if !v.pause(ctx, lifetime/3+time.Duration(v.random.IntN(1000))*time.Millisecond-lifetime/20) {
			return
		}
		v.insist(ctx, wanted)
	}
}

// attacking uses the key of another organization, and asks for its run.
func (v *virtual) attacking(ctx context.Context, wanted *requests.Order) {
	victim := (wanted.Org + 1 + v.random.IntN(len(v.orgs)-1)) % len(v.orgs)
	wanted.Key = fmt.Sprintf("%s-%d-%d", v.orgs[victim].Slug, v.number, 1+v.random.IntN(v.orders))
	wanted.Document = "A" // A key that the victim has used means nothing here.
	v.insist(ctx, wanted)
	v.look(ctx, wanted.Org, true)
}

// look reads a run that was acknowledged to somebody.
func (v *virtual) look(ctx context.Context, org int, foreign bool) {
	run := v.history.Acknowledged(org, foreign)
	if run == "" {
		return
	}
	read := &requests.Order{Who: "reading", Org: org, Run: run, Foreign: foreign, Server: v.random.IntN(2)}
	_, err := v.orgs[org].client.Run(requests.WithOrder(ctx, read), run)
	if problem, ok := errors.AsType[*client.Error](err); ok && problem.Code == api.CodeNotFound && foreign {
		v.note("kept out")
	}
}
