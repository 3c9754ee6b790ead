package remote

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/client"
)

// TestProgressWithoutATerminal wants a line now and then, and nothing that only a terminal understands.
func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		told := newProgress(&said)
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		pass(sayEvery + time.Second)
		told.begin("a.csv", 100)
		told.upload(60, 100)
		pass(sayEvery)
		told.event(client.Event{Name: client.EventRunCreated}, 2)
		pass(sayEvery)
		told.event(client.Event{Name: client.EventRunStarted}, 2)
		told.event(client.Event{Name: client.EventStepCompleted}, 2)
		pass(sayEvery)
		told.close()
		pass(3 * sayEvery)
		want := "a.csv: uploading, 60 of 100 bytes\na.csv: waiting to be executed\na.csv: step 2 of 2\n"
		if diff := cmp.Diff(want, said.String()); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
	})
}
