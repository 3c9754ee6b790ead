package idemcheck

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// Checker checks an API. Its fields do not change once it is used.
type Checker struct {
	Description *Description
	// Base is the base URL of the API, which may be empty if the description has the whole address.
	Base    string
	Profile Profile
	// Seed decides all keys, references and faults, so that a run can be repeated where the API has forgotten the keys.
	Seed uint64
	// Jobs is how many cases are tried at once.
	Jobs int
	// Only are names of cases, with the wildcards of path.Match; all cases without one.
	Only []string
	// Lookup finds variables of the environment.
	Lookup func(name string) (string, bool)
	// Progress is told of each case that has ended. It is not called twice at once.
	Progress func(done, all int, name string)

	target  string
	prefix  string // the path of Base
	header  string // of the key
	client  *http.Client
	limit   *rate.Limiter
	sent    atomic.Int64
	mostFor time.Duration // for one request
}

// Plan is what a run will do.
type Plan struct {
	Target string
	Cases  []Case
	// Requests are sent to an API that answers at once, and takes Lasts where it does so in no time. MostRequests and
	// MostLasts are bounds: what would need more is not judged.
	Requests, MostRequests int
	Lasts, MostLasts       time.Duration
}

// A case may take this much more than it needs by itself, for retries and for counting effects.
const (
	moreRequests = 60
	moreSettles  = 2
	moreTime     = 30 * time.Second
)

// bounds are the most requests and time of a case.
func (c *Checker) bounds(tt Case) (int, time.Duration) {
	settles := moreSettles * time.Duration(c.Description.Limits.Settle)
	return tt.Requests*tt.given(c.Description) + moreRequests + int(settles/mostPause),
		tt.waits(c.Description) + settles + moreTime
}

// Plan says what Run will do. The error is about the description, the address or the names of cases.
func (c *Checker) Plan() (Plan, error) {
	to, err := c.Description.Address(expand(c.Base, c.Lookup))
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Target: to.Scheme + "://" + to.Host}
	for _, pattern := range c.Only {
		if !slices.ContainsFunc(Cases(), func(tt Case) bool { return matches(pattern, tt.Name) }) {
			return Plan{}, fmt.Errorf("there is no case %s; idemcheck --list lists them", pattern)
		}
	}
	for _, tt := range Cases() {
		if len(c.Only) > 0 && !slices.ContainsFunc(c.Only, func(p string) bool { return matches(p, tt.Name) }) {
			continue
		}
		plan.Cases = append(plan.Cases, tt)
		if n := tt.given(c.Description); n > 0 {
			requests, lasts := c.bounds(tt)
			plan.Requests += n * tt.Requests
			plan.Lasts += tt.waits(c.Description)
			plan.MostRequests += requests
			if !tt.Alone {
				lasts /= time.Duration(max(1, c.Jobs))
			}
			plan.MostLasts += lasts
		}
	}
	plan.Lasts += time.Duration(float64(plan.Requests) / c.Description.Limits.Rate * float64(time.Second))
	return plan, nil
}

func matches(pattern, name string) bool {
	whole, err := path.Match(pattern, name)
	return err == nil && (whole || pattern == path.Dir(name))
}

// Run tries the cases of the plan. An error is about the whole: the hook that clears has failed, the request does not
// succeed at all, or the context ended.
func (c *Checker) Run(ctx context.Context) (Report, error) {
	plan, err := c.Plan()
	if err != nil {
		return Report{}, err
	}
	c.prepare(plan.Target)
	defer c.client.CloseIdleConnections()
	if hook := c.Description.Hooks.Clear; hook != "" {
		if _, err := c.shell(ctx, hook); err != nil {
			return Report{}, fmt.Errorf("hooks.clear has failed: %w", err)
		}
	}
	probe := c.trial(ctx, "probe", moreRequests)
	if got := probe.send(probe.message(0)); !got.ok() {
		return Report{}, fmt.Errorf("the request of the description was answered %s; nothing else was tried", got)
	}
	report := Report{Target: plan.Target, Profile: c.Profile, Seed: c.Seed, At: time.Now()}
	report.Results = make([]Result, len(plan.Cases))
	var mu sync.Mutex
	done := 0
	try := func(i int) {
		result := c.try(ctx, plan.Cases[i])
		mu.Lock()
		defer mu.Unlock()
		report.Results[i] = result
		done++
		if c.Progress != nil {
			c.Progress(done, len(plan.Cases), plan.Cases[i].Name)
		}
	}
	for _, alone := range []bool{false, true} {
		var group errgroup.Group
		group.SetLimit(map[bool]int{false: max(1, c.Jobs), true: 1}[alone])
		for i, tt := range plan.Cases {
			if tt.Alone == alone {
				group.Go(func() error { try(i); return nil })
			}
		}
		_ = group.Wait() // No case returns an error.
	}
	report.Requests = c.sent.Load()
	return report, ctx.Err()
}

func (c *Checker) prepare(target string) {
	if at, err := url.Parse(expand(c.Base, c.Lookup)); err == nil {
		c.prefix = strings.TrimRight(at.Path, "/")
	}
	c.target, c.header = target, expand(c.Description.Key.Header, c.Lookup)
	c.limit = rate.NewLimiter(rate.Limit(c.Description.Limits.Rate), mostAtOnce)
	c.mostFor = time.Duration(c.Description.Limits.Settle) + patience
	c.client = clientOf(&http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: mostAtOnce})
}

// patience is how much longer than the time to settle a request may take, and mostAtOnce how many are sent at once.
const (
	patience   = 15 * time.Second
	mostAtOnce = 100
)

func clientOf(transport *http.Transport) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// try runs a case and judges how it has ended.
func (c *Checker) try(ctx context.Context, tt Case) Result {
	result := Result{Case: tt, Level: tt.Levels[c.Profile], Outcome: OutcomePassed}
	begun := time.Now()
	requests, lasts := c.bounds(tt)
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	t := c.trial(ctx, tt.Name, requests)
	err := unjudged("%s", tt.lacks())
	if tt.given(c.Description) > 0 {
		err = tries()[tt.Name](t) //nolint:contextcheck // the trial has it
	}
	_, isUnjudged := errors.AsType[unjudgedError](err)
	life := time.Duration(c.Description.Key.Lifetime)
	if err != nil && life > 0 && tt.Name != "expiry/after" && time.Since(begun) > life*3/4 {
		isUnjudged, err = true, unjudged("the key may have expired meanwhile; try again with longer lives: %v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, counts := errors.AsType[effectsError](err); err != nil && !counts && t.limited {
		isUnjudged, err = true, unjudged("the API limits requests, so lower limits.rate: %v", err)
	}
	switch {
	case err == nil:
	case t.left.Load() < 0, ctx.Err() != nil:
		result.Outcome = OutcomeUnjudged
		result.Reason = "it took more requests or time than were announced: " + err.Error()
	case isUnjudged:
		result.Outcome, result.Reason = OutcomeUnjudged, err.Error()
	case result.Level == LevelDiffers:
		result.Outcome, result.Reason = OutcomeDiffers, err.Error()
	default:
		result.Outcome, result.Reason = OutcomeFailed, err.Error()
	}
	result.Seen, result.MS = t.seen, time.Since(begun).Milliseconds()
	result.Reason = c.masked(result.Reason)
	for i := range result.Seen {
		result.Seen[i].Answer = c.masked(result.Seen[i].Answer)
	}
	return result
}

// masked has the names of variables where an answer repeats what they hold, unless that is too short for a secret.
func (c *Checker) masked(text string) string {
	for _, name := range c.Description.variables {
		if secret, _ := c.Lookup(name); len(secret) > 7 {
			text = strings.ReplaceAll(text, secret, "${"+name+"}")
		}
	}
	return text
}

// trial makes what one case needs: a key and a reference that no other one has.
func (c *Checker) trial(ctx context.Context, name string, requests int) *trial {
	digest := fnv.New64a()
	fmt.Fprintf(digest, "%d %s", c.Seed, name)
	t := &trial{
		Checker: c, ctx: ctx, name: fmt.Sprintf("idem-%016x", digest.Sum64()), shown: make(map[string]map[string]bool),
	}
	t.left.Store(int64(requests))
	return t
}
