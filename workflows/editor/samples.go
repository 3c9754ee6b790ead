package editor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// maxSampleBytes bounds a sample.
const maxSampleBytes = 256 << 10

// sampleTimeout bounds the check of a sample, the wait for its place included.
const sampleTimeout = 5 * time.Second

// Samples checks small documents by unsaved definitions, within a request. Nothing is stored, and steps that call other
// services are skipped.
type Samples struct {
	limit  core.Limiter
	places *share.Places
}

// NewSamples makes Samples with a place for each CPU.
func NewSamples(limit core.Limiter) *Samples {
	return &Samples{limit: limit, places: share.New(runtime.NumCPU(), 0)}
}

// Check checks a sample by a definition that Definition.Check has accepted. An organization that asks for too much is
// refused with rate_limited. A check that takes too long is a result.
func (s *Samples) Check(
	ctx context.Context, orgID uuid.UUID, definition validations.Definition, sample engines.Document,
) (formats.Document, error) {
	checked, err := trySample(ctx, s, orgID, sample, func(ctx context.Context) (formats.Document, error) {
		checker, err := execution.NewChecker(definition)
		if err != nil {
			return formats.Document{}, err
		}
		return checker.Check(ctx, sample.Filename, sample, func(int) {})
	})
	if errors.Is(err, errSampleTimeout) {
		return formats.Document{Name: sample.Filename, Result: api.RunResultTimedOut, Error: fmt.Sprintf(
			"The check of the sample took longer than %s and was stopped.", sampleTimeout)}, nil
	}
	return checked, err
}

// Why the work on a sample has no result: it took too long and was stopped, or it panicked.
var (
	errSampleTimeout = errors.New("the work on the sample took too long")
	errPanic         = errors.New("the work on the sample panicked")
)

// trySample does small work on a sample within a request. An organization that asks for too much is refused with
// rate_limited.
func trySample[T any](
	ctx context.Context, s *Samples, orgID uuid.UUID, sample engines.Document, work func(context.Context) (T, error),
) (T, error) {
	var none T
	if sample.Size > maxSampleBytes {
		return none, core.NewError(api.CodePayloadTooLarge, "The sample is larger than 256 KiB.")
	}
	if allowance := s.limit.Allow(ctx, orgID); allowance.Wait > 0 {
		return none, core.RateLimited("Your organization checks too many samples.", allowance.Wait)
	}
	limited, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	leave, err := s.places.Take(limited, orgID, 0)
	if err != nil {
		return none, core.Unavailable(err)
	}
	type outcome struct {
		result T
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		// An engine that ignores its deadline keeps its place, so it cannot be followed by others.
		defer leave()
		result, err := survive(limited, work)
		ended <- outcome{result, err}
	}()
	select {
	case end := <-ended:
		if end.err == nil || limited.Err() == nil {
			return end.result, end.err
		}
	case <-limited.Done():
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return none, errSampleTimeout
}

// survive turns a panic of the work into an error: nobody else does so in its goroutine, and one bad sample must not
// take the process down.
func survive[T any](
	ctx context.Context, work func(context.Context) (T, error),
) (result T, err error) { //nolint:nonamedreturns // recover can only report through it
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, reason, debug.Stack())
		}
	}()
	return work(ctx)
}
