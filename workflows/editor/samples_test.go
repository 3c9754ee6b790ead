package editor

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// everything allows every sample.
type everything struct{}

func (everything) Allow(context.Context, uuid.UUID) core.Allowance { return core.Allowance{} }

// A panic of the work on one sample ends neither the process nor the work on others.
func TestSampleThatPanics(t *testing.T) {
	t.Parallel()
	samples, sample := NewSamples(everything{}), engines.NewDocument([]byte("x"), "text/plain", "")
	for range runtime.NumCPU() + 1 {
		_, err := trySample(t.Context(), samples, uuid.New(), sample, func(context.Context) (int, error) {
			panic("a fault of an engine")
		})
		if !errors.Is(err, errPanic) {
			t.Fatalf("error = %v, want %v", err, errPanic)
		}
	}
	seven := func(context.Context) (int, error) { return 7, nil }
	got, err := trySample(t.Context(), samples, uuid.New(), sample, seven)
	if got != 7 || err != nil {
		t.Errorf("the next sample = %d, %v, want 7", got, err)
	}
}
