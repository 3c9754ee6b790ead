package validations

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func (b *bundle) sweepUploads(tb testing.TB, want int) {
	tb.Helper()
	if got, err := b.service.SweepUploads(tb.Context()); err != nil || got != want {
		tb.Errorf("SweepUploads = %d, %v, want %d", got, err, want)
	}
}

func TestAdoption(t *testing.T) {
	t.Parallel()

	t.Run("HappensOnce", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		content := b.takenIn(t, document(MaxInlineBytes+1))
		ref := b.workflow(t)
		if _, err := b.create(t, b.prepared(t, ref, content)); err != nil {
			t.Fatal(err)
		}
		_, err := b.create(t, b.prepared(t, ref, content))
		if got := db.ViolatedConstraint(err); got != "uq_submissions_upload" {
			t.Errorf("adopted twice: violated constraint = %q (%v), want uq_submissions_upload", got, err)
		}
		if n := coretest.One[int64](t, b.db, `SELECT count(*) FROM validation_runs`); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})

	t.Run("IsNotByARunThatIsNotGranted", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		prepared := b.prepared(t, b.workflow(t), b.takenIn(t, document(MaxInlineBytes+1)))
		err := db.Do(t.Context(), b.db, func(tx db.Tx) error {
			batch := tx.NewBatch()
			QueueDocuments(batch, []Prepared{prepared})
			db.Grant(batch, nil)
			b.service.Create(batch, []Prepared{prepared})
			return batch.Send(t.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		b.exec(t, `UPDATE uploads SET sweep_after = sweep_after - interval '1 hour'`)
		b.sweepUploads(t, 1)
	})

	for name, change := range map[string]string{
		"IsNotOfAnotherOrganization": `UPDATE uploads SET org_id = gen_random_uuid()`,
		"IsNotOfAPart":               `UPDATE uploads SET size = NULL`,
		"IsNotOfAnotherSize":         `UPDATE uploads SET size = size - 1`,
		"IsNotOfWhatWasSwept":        `DELETE FROM uploads`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			content := b.takenIn(t, document(MaxInlineBytes+1))
			b.exec(t, `ALTER TABLE upload_chunks DROP CONSTRAINT fk_upload_chunks_upload`)
			b.exec(t, change)
			_, err := b.create(t, b.prepared(t, b.workflow(t), content))
			if !IsUploadGone(err) {
				t.Errorf("error = %v, want that the upload is gone", err)
			}
			if n := coretest.One[int64](t, b.db, `SELECT count(*) FROM submissions`); n != 0 {
				t.Errorf("%d submissions, want none", n)
			}
		})
	}
}

func TestSweepUploads(t *testing.T) {
	t.Parallel()

	t.Run("DeletesOrphansAfterAnHour", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		text := document(MaxInlineBytes + 1)
		adopted := b.startOn(t, b.takenIn(t, text))
		b.takenIn(t, text)
		if left := coretest.One[time.Duration](t, b.db, `SELECT sweep_after - now() FROM uploads
			WHERE sweep_after IS NOT NULL`); left <= 59*time.Minute || left > time.Hour {
			t.Errorf("the orphan is kept for another %v, want an hour", left)
		}
		b.sweepUploads(t, 0)
		b.exec(t, `UPDATE uploads SET sweep_after = sweep_after - interval '1 hour'`)
		b.sweepUploads(t, 1)
		b.sweepUploads(t, 0)
		b.wantUploads(t, 1, 2)
		if !bytes.Equal(b.documentOf(t, adopted), text) {
			t.Error("the adopted upload is not the document")
		}
	})

	t.Run("SkipsAnUploadThatIsBeingAdopted", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		prepared := b.prepared(t, b.workflow(t), b.takenIn(t, document(MaxInlineBytes+1)))
		b.exec(t, `UPDATE uploads SET sweep_after = now() - interval '1 hour'`)
		err := db.Do(t.Context(), b.db, func(tx db.Tx) error {
			err := b.insert(tx, prepared).Send(t.Context())
			b.sweepUploads(t, 0)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.sweepUploads(t, 0)
		b.wantUploads(t, 1, 2)
	})

	t.Run("RacesWithAdoptions", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		ref := b.workflow(t)
		var contents []Content
		for range 20 {
			contents = append(contents, b.takenIn(t, document(MaxInlineBytes+1)))
		}
		b.exec(t, `UPDATE uploads SET sweep_after = now() - interval '1 hour'`)
		lost := b.adoptWhileSweeping(t, ref, contents)
		if n := coretest.One[int64](t, b.db, `SELECT count(*) FROM validation_runs`); int(n)+lost != len(contents) {
			t.Errorf("%d runs and %d refusals, want %d together", n, lost, len(contents))
		}
		if n := coretest.One[int64](t, b.db, `SELECT count(*) FROM submissions AS s WHERE size IS DISTINCT FROM (
			SELECT sum(octet_length(bytes)) FROM upload_chunks AS c
			WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id)`); n != 0 {
			t.Errorf("%d submissions are not whole", n)
		}
	})
}

// adoptWhileSweeping returns how many contents were swept before a run could adopt them.
func (b *bundle) adoptWhileSweeping(tb testing.TB, ref WorkflowRef, contents []Content) int {
	tb.Helper()
	var racing sync.WaitGroup
	refusals := make([]error, len(contents))
	for i, content := range contents {
		racing.Go(func() { _, refusals[i] = b.create(tb, b.prepared(tb, ref, content)) })
	}
	for range 2 {
		racing.Go(func() {
			if _, err := b.service.SweepUploads(tb.Context()); err != nil {
				tb.Errorf("SweepUploads: %v", err)
			}
		})
	}
	racing.Wait()
	lost := 0
	for _, err := range refusals {
		if err == nil {
			continue
		}
		lost++
		if !IsUploadGone(err) {
			tb.Errorf("error = %v, want none, or that the upload is gone", err)
		}
	}
	return lost
}

func TestPurgeOfLargeDocuments(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	text := document(MaxInlineBytes + 1)
	old, shared := b.startOn(t, b.takenIn(t, text)), b.startOn(t, b.takenIn(t, text))
	b.fail(t, old)
	b.fail(t, shared)
	again, err := b.rerun(t, shared)
	if err != nil {
		t.Fatal(err)
	}
	b.age(t, old, 2*day)
	b.age(t, shared, 2*day)
	b.purge(t, Retention{Content: day}, Purged{Contents: 1})
	b.wantUploads(t, 1, 2)
	if _, err := b.rerun(t, old); !errors.Is(err, api.CodeDocumentGone) {
		t.Errorf("rerun: error = %v, want %s", err, api.CodeDocumentGone)
	}
	if !bytes.Equal(b.documentOf(t, again), text) {
		t.Error("the rerun has lost its document")
	}
}
