package validations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// reading is an engine that demands a document.
func reading(want []byte) engine {
	return func(ctx context.Context, doc engines.Document) (engines.Report, error) {
		got, err := io.ReadAll(io.NewSectionReader(doc.Content, 0, doc.Size))
		if err != nil {
			return engines.Report{}, fmt.Errorf("read the document: %w", err)
		}
		if !bytes.Equal(got, want) {
			return failing(ctx, doc)
		}
		return engines.Report{}, nil
	}
}

// large starts a run on a large document and returns its job.
func (b *testBundle) large(tb testing.TB, text []byte, steps ...engine) jobs.Job {
	tb.Helper()
	job, err := b.createOf(tb, b.workflow(tb, Definition{}, steps...), b.takenIn(tb, text))
	if err != nil {
		tb.Fatalf("create run: %v", err)
	}
	return job
}

func (b *testBundle) sweepUploads(tb testing.TB, want int) {
	tb.Helper()
	if got, err := b.runs.SweepUploads(tb.Context()); err != nil || got != want {
		tb.Errorf("SweepUploads = %d, %v, want %d", got, err, want)
	}
}

func TestRunOfALargeDocument(t *testing.T) {
	t.Parallel()

	t.Run("ReadsItFromItsChunks", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		text := document(2*MaxInlineBytes + 7)
		job := b.large(t, text, reading(text), passing)
		b.execute(t, job)
		if got := b.run(t, job.SubjectID); got.Result != ResultPass {
			t.Errorf("run = %+v, want one that passed", got)
		}
	})

	t.Run("IsBegunAgainWhenTheDocumentCannotBeRead", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		text := document(2 * MaxInlineBytes)
		job := b.large(t, text, reading(text))
		b.exec(t, `UPDATE upload_chunks SET first_byte = 7 WHERE first_byte = 0`)
		b.execute(t, job)
		if got := b.run(t, job.SubjectID); got.State != StateRunning || got.Leased || !got.Swept {
			t.Errorf("run = %+v, want one that waits for another attempt", got)
		}
		b.exec(t, `UPDATE upload_chunks SET first_byte = 0 WHERE first_byte = 7`)
		job.Epoch++
		b.execute(t, job)
		if got := b.run(t, job.SubjectID); got.Result != ResultPass {
			t.Errorf("run = %+v, want one that passed", got)
		}
	})
}

func TestAdoption(t *testing.T) {
	t.Parallel()

	t.Run("HappensOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		content := b.takenIn(t, document(MaxInlineBytes+1))
		ref := b.workflow(t, Definition{}, passing)
		if _, err := b.createOf(t, ref, content); err != nil {
			t.Fatal(err)
		}
		_, err := b.createOf(t, ref, content)
		if got := db.ViolatedConstraint(err); got != "uq_submissions_upload" {
			t.Errorf("adopted twice: violated constraint = %q (%v), want uq_submissions_upload", got, err)
		}
		if n := one[int64](t, b, `SELECT count(*) FROM validation_runs`); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})

	for name, change := range map[string]string{
		"IsNotOfAnotherOrganization": `UPDATE uploads SET org_id = gen_random_uuid()`,
		"IsNotOfAPart":               `UPDATE uploads SET size = NULL`,
		"IsNotOfAnotherSize":         `UPDATE uploads SET size = size - 1`,
		"IsNotOfWhatWasSwept":        `DELETE FROM uploads`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, testConfig())
			content := b.takenIn(t, document(MaxInlineBytes+1))
			b.exec(t, `ALTER TABLE upload_chunks DROP CONSTRAINT fk_upload_chunks_upload`)
			b.exec(t, change)
			_, err := b.createOf(t, b.workflow(t, Definition{}, passing), content)
			if !IsUploadGone(err) {
				t.Errorf("error = %v, want that the upload is gone", err)
			}
			if n := one[int64](t, b, `SELECT count(*) FROM submissions`); n != 0 {
				t.Errorf("%d submissions, want none", n)
			}
		})
	}
}

func TestSweepUploads(t *testing.T) {
	t.Parallel()

	t.Run("DeletesOrphansAfterAnHour", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		text := document(MaxInlineBytes + 1)
		adopted := b.large(t, text, reading(text))
		b.takenIn(t, text)
		if !one[bool](t, b, `
			SELECT sweep_after > now() + interval '59 minutes' AND sweep_after <= now() + interval '1 hour'
			FROM uploads WHERE sweep_after IS NOT NULL`) {
			t.Error("the orphan is not kept for an hour")
		}
		b.sweepUploads(t, 0)
		b.exec(t, `UPDATE uploads SET sweep_after = sweep_after - interval '1 hour'`)
		b.sweepUploads(t, 1)
		b.sweepUploads(t, 0)
		b.wantUploads(t, 1, 2)
		b.execute(t, adopted)
		if got := b.run(t, adopted.SubjectID); got.Result != ResultPass {
			t.Errorf("run = %+v, want one that passed", got)
		}
	})

	t.Run("PassesOverWhatIsBeingAdopted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		prepared := b.prepared(t, b.workflow(t, Definition{}, passing), b.takenIn(t, document(MaxInlineBytes+1)))
		b.exec(t, `UPDATE uploads SET sweep_after = now() - interval '1 hour'`)
		_, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (struct{}, error) {
			batch := tx.NewBatch()
			b.runs.Create(batch, prepared)
			err := batch.Send(t.Context())
			b.sweepUploads(t, 0)
			return struct{}{}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.sweepUploads(t, 0)
		b.wantUploads(t, 1, 2)
	})

	t.Run("RacesWithAdoptions", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		ref := b.workflow(t, Definition{}, passing)
		var contents []Content
		for range 20 {
			contents = append(contents, b.takenIn(t, document(MaxInlineBytes+1)))
		}
		b.exec(t, `UPDATE uploads SET sweep_after = now() - interval '1 hour'`)
		lost := b.adoptWhileSweeping(t, ref, contents)
		if n := one[int64](t, b, `SELECT count(*) FROM validation_runs`); int(n)+lost != len(contents) {
			t.Errorf("%d runs and %d refusals, want %d together", n, lost, len(contents))
		}
		if n := one[int64](t, b, `SELECT count(*) FROM submissions AS s WHERE size IS DISTINCT FROM (
			SELECT sum(octet_length(bytes)) FROM upload_chunks AS c
			WHERE c.org_id = s.org_id AND c.upload_id = s.upload_id)`); n != 0 {
			t.Errorf("%d submissions are not whole", n)
		}
	})
}

// adoptWhileSweeping returns how many contents were swept before a run could adopt them.
func (b *testBundle) adoptWhileSweeping(tb testing.TB, ref WorkflowRef, contents []Content) int {
	tb.Helper()
	var racing sync.WaitGroup
	refusals := make([]error, len(contents))
	for i, content := range contents {
		racing.Go(func() { _, refusals[i] = b.createOf(tb, ref, content) })
	}
	for range 2 {
		racing.Go(func() {
			if _, err := b.runs.SweepUploads(tb.Context()); err != nil {
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
	b := setup(t, testConfig())
	text := document(MaxInlineBytes + 1)
	old, shared := b.large(t, text, reading(text)), b.large(t, text, reading(text))
	b.execute(t, old)
	b.execute(t, shared)
	again, err := b.rerun(t, shared)
	if err != nil {
		t.Fatal(err)
	}
	b.age(t, old, 2*day)
	b.age(t, shared, 2*day)
	b.purge(t, Retention{Content: day}, Purged{Contents: 1})
	b.wantUploads(t, 1, 2)
	if _, err := b.rerun(t, old); !core.HasCode(err, core.CodeDocumentGone) {
		t.Errorf("rerun: error = %v, want %s", err, core.CodeDocumentGone)
	}
	b.execute(t, again)
	if got := b.run(t, again.SubjectID); got.Result != ResultPass {
		t.Errorf("rerun = %+v, want one that passed", got)
	}
}

func TestUploadReadAt(t *testing.T) {
	t.Parallel()
	text := document(1000)
	const chunk = 100
	reads := 0
	large := &upload{size: int64(len(text)), read: func(at int64) (int64, []byte, error) {
		reads++
		begin := at / chunk * chunk
		return begin, text[begin : begin+chunk], nil
	}}
	for _, part := range [][2]int{{0, 10}, {95, 10}, {0, 1000}, {999, 1}, {500, 0}, {1, 998}} {
		got := make([]byte, part[1])
		if n, err := large.ReadAt(got, int64(part[0])); err != nil || n != part[1] ||
			!bytes.Equal(got, text[part[0]:part[0]+part[1]]) {
			t.Errorf("ReadAt(%d bytes, %d) = %d, %v, or other bytes", part[1], part[0], n, err)
		}
	}
	if n, err := large.ReadAt(make([]byte, 10), 995); n != 5 || !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt(10 bytes, 995) = %d, %v, want 5, %v", n, err, io.EOF)
	}
	reads = 0
	if _, err := io.Copy(io.Discard, io.NewSectionReader(large, 0, large.size)); err != nil || reads != 10 {
		t.Errorf("reading it through took %d chunks (%v), want 10", reads, err)
	}
	foreign := uuid.New()
	b := setup(t, testConfig())
	none := b.executor.uploadOf(t.Context(), b.orgID, foreign, 1)
	if _, err := none.ReadAt(make([]byte, 1), 0); !errors.Is(err, errUnread) || errors.Is(err, io.EOF) {
		t.Errorf("ReadAt of nothing: error = %v, want %v", err, errUnread)
	}
}
