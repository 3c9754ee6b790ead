package account

import (
	"context"
	"errors"
	"fmt"
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
	// maxHashes bounds how many passwords are hashed at once: each takes 64 MiB for the time.
	maxHashes = 2
	// maxWaitingHashes bounds how many more wait for their turn, about two seconds at most.
	maxWaitingHashes = 16
	// hashRetry is when a full queue certainly has room again.
	hashRetry = 2 * time.Second
)

// errHashing says that the queue of password hashes is full.
var errHashing = errors.New("the queue of password hashes is full")

// Passwords hashes and compares passwords, a few at once. More wait in a queue of bounded length: if it is full, a
// request is answered with unavailable at once, so that a flood of guesses costs other visitors no more than a retry.
// They are not shared out among organizations (core/share), because a guess belongs to none.
type Passwords struct {
	// admitted has a slot for each password that is hashed or waits, and running for each that is hashed.
	admitted, running chan struct{}
	// cost has the parameters of new hashes; a stored hash names its own.
	cost *argon2id.Params
}

// NewPasswords returns hashes of the default cost.
func NewPasswords() *Passwords {
	return &Passwords{
		admitted: make(chan struct{}, maxHashes+maxWaitingHashes), running: make(chan struct{}, maxHashes),
		cost: argon2id.DefaultParams,
	}
}

// Hash makes the hash of a password, which is to be stored.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	return inTurn(ctx, p, password, func() (string, error) {
		hash, err := argon2id.CreateHash(password, p.cost)
		if err != nil {
			return "", fmt.Errorf("hash the password: %w", err)
		}
		return hash, nil
	})
}

// Match compares a password with a hash. Without a hash nothing matches, which takes equally long.
func (p *Passwords) Match(ctx context.Context, password, hash string) (bool, error) {
	if hash == "" {
		_, err := p.Hash(ctx, password)
		return false, err
	}
	return inTurn(ctx, p, password, func() (bool, error) {
		matches, err := argon2id.ComparePasswordAndHash(password, hash)
		if err != nil {
			return false, fmt.Errorf("compare a password: %w", err)
		}
		return matches, nil
	})
}

func inTurn[T any](ctx context.Context, p *Passwords, password string, do func() (T, error)) (T, error) {
	var zero T
	if len(password) > maxPasswordBytes {
		return zero, core.InvalidPayload("The password is too long.", api.FieldError{
			Pointer: "/password", Code: "max", Detail: fmt.Sprintf("must be at most %d bytes", maxPasswordBytes),
		})
	}
	select {
	case p.admitted <- struct{}{}:
		defer func() { <-p.admitted }()
	default:
		full := core.Unavailable(errHashing)
		full.RetryAfter = hashRetry
		return zero, full
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return zero, fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
	return do()
}

// HashCheaply makes the hashes of new passwords cheap, for tests that sign in. It must be called before the service is
// used.
func (p *Passwords) HashCheaply() {
	p.cost = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}
