package execution

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// A document that does not fit beside another one waits until that one's engine has ended.
func TestAStepWaitsForTheMemoryOfItsDocument(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	const document = "{}"
	cfg.EngineMemory = engines.Weight(engines.KindJSONSchema, "application/json", int64(len(document)))
	b := setup(t, cfg)
	executing, proceed := make(chan struct{}, 2), make(chan struct{})
	ref := b.workflow(t, validations.Definition{}, func(context.Context, engines.Document) (engines.Report, error) {
		executing <- struct{}{}
		<-proceed
		return engines.Report{}, nil
	})
	ready, _ := b.executor.plans.Get(ref.Digest)
	ready.definition.Steps = slices.Clone(ready.definition.Steps)
	ready.definition.Steps[0].Type = engines.KindJSONSchema
	b.executor.plans.Add(ref.Digest, ready)
	var runs sync.WaitGroup
	var started []jobs.Job
	for range 2 {
		started = append(started, b.create(t, ref))
	}
	for _, job := range started {
		runs.Go(func() { b.execute(t, job) })
	}
	<-executing
	coretest.Eventually(t, func() bool { return b.executor.memory.Usage().Waiting == 1 || len(executing) > 0 })
	if len(executing) > 0 {
		t.Error("both engines hold a document, and the budget is that of one")
	}
	close(proceed)
	runs.Wait()
	for _, job := range started {
		if got := b.run(t, job.SubjectID); got.Result != api.RunResultPass {
			t.Errorf("run = %+v, want it to pass", got)
		}
	}
}
