package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

const (
	// MinPassword is the fewest characters of a password.
	MinPassword = 12
	// maxPasswordBytes bounds what is hashed: the time that it takes grows with the length.
	maxPasswordBytes = 1 << 10
	// maxQueued bounds how many passwords of each kind are hashed or wait, about two seconds at most.
	maxQueued = 9
	// maxOfNetwork bounds how many of them come from one network, so that others have their turn.
	maxOfNetwork = 2
	// hashRetry is when a full queue certainly has room again.
	hashRetry = 2 * time.Second
)

// Passwords hashes and compares passwords, two at once, because each takes 64 MiB for the time. More wait in queues of
// bounded length; a request beyond them is refused at once. Strangers, who may be a flood of guesses, have a queue of
// their own, and never more than one of the two places: the other one is kept for people whom the service knows.
type Passwords struct {
	known, strangers chan struct{}
	// kept and open have a slot each for a password that is hashed; strangers get the open one alone.
	kept, open chan struct{}

	mu sync.Mutex
	// networks counts those of strangers in the queue.
	networks map[string]int
	// cost has the parameters of new hashes; a stored hash names its own.
	cost *argon2id.Params
}

// NewPasswords returns hashes of the default cost.
func NewPasswords() *Passwords {
	return &Passwords{
		known: make(chan struct{}, maxQueued), strangers: make(chan struct{}, maxQueued),
		kept: make(chan struct{}, 1), open: make(chan struct{}, 1),
		networks: make(map[string]int), cost: argon2id.DefaultParams,
	}
}

// Hash makes the hash of a password, which is to be stored. It refuses common ones.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := refuseCommon(password); err != nil {
		return "", err
	}
	return inTurn(ctx, p, "", password, p.hash(password))
}

func (p *Passwords) hash(password string) func() (string, error) {
	return func() (string, error) {
		hash, err := argon2id.CreateHash(password, p.cost)
		if err != nil {
			return "", fmt.Errorf("hash the password: %w", err)
		}
		return hash, nil
	}
}

// Match compares a password with a hash. Without a hash nothing matches, which takes equally long. The network is that
// of a stranger, and "" for somebody whom the service knows.
func (p *Passwords) Match(ctx context.Context, network, password, hash string) (bool, error) {
	if hash == "" {
		_, err := inTurn(ctx, p, network, password, p.hash(password))
		return false, err
	}
	return inTurn(ctx, p, network, password, func() (bool, error) {
		matches, err := argon2id.ComparePasswordAndHash(password, hash)
		if err != nil {
			return false, fmt.Errorf("compare a password: %w", err)
		}
		return matches, nil
	})
}

func inTurn[T any](
	ctx context.Context, p *Passwords, network, password string, do func() (T, error),
) (T, error) {
	var zero T
	if len(password) > maxPasswordBytes {
		return zero, core.InvalidPayload("The password is too long.", api.FieldError{
			Pointer: "/password", Code: "max", Detail: fmt.Sprintf("must be at most %d bytes", maxPasswordBytes),
		})
	}
	leave, ok := p.enter(network)
	if !ok {
		refused := core.RateLimited("", hashRetry)
		refused.Detail = "Many people sign in at the moment. Try again in " +
			core.Plural(refused.RetrySeconds(), "second") + "."
		return zero, refused
	}
	defer leave()
	kept := p.kept
	if network != "" {
		kept = nil // Nobody gets a place of it.
	}
	select {
	case kept <- struct{}{}:
		defer func() { <-kept }()
	case p.open <- struct{}{}:
		defer func() { <-p.open }()
	case <-ctx.Done():
		return zero, fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
	return do()
}

// enter takes a place in the queue, if there is one, and returns what gives it back.
func (p *Passwords) enter(network string) (func(), bool) {
	queue := p.known
	if network != "" {
		queue = p.strangers
		if !p.count(network, 1) {
			return nil, false
		}
	}
	select {
	case queue <- struct{}{}:
		return func() { <-queue; p.count(network, -1) }, true
	default:
		p.count(network, -1)
		return nil, false
	}
}

// count changes how many places the network of a stranger has, unless it would have too many.
func (p *Passwords) count(network string, by int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := p.networks[network] + by; {
	case n > maxOfNetwork:
		return false
	case n <= 0:
		delete(p.networks, network)
	default:
		p.networks[network] = n
	}
	return true
}

// HashCheaply makes the hashes of new passwords cheap, for tests that sign in. It must be called before the service is
// used.
func (p *Passwords) HashCheaply() {
	p.cost = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}
