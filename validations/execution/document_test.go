package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// largeDocument makes a document in which no two parts are alike.
func largeDocument(size int) []byte {
	var text bytes.Buffer
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	return text.Bytes()[:size]
}

// takenIn takes a large document in.
func (b *testBundle) takenIn(tb testing.TB, document []byte) validations.Content {
	tb.Helper()
	content, err := b.runs.NewIntake(b.orgID).Take(tb.Context(), document)
	if err != nil {
		tb.Fatalf("Take: %v", err)
	}
	return content
}

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
	job, err := b.createOf(tb, b.workflow(tb, validations.Definition{}, steps...), b.takenIn(tb, text))
	if err != nil {
		tb.Fatalf("create run: %v", err)
	}
	return job
}

func TestRunOfALargeDocumentIsRetriedWhenItCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t, testConfig())
	text := largeDocument(2 * validations.MaxInlineBytes)
	job := b.large(t, text, reading(text))
	b.exec(t, `UPDATE upload_chunks SET first_byte = 7 WHERE first_byte = 0`)
	b.execute(t, job)
	if got := b.run(t, job.SubjectID); got.State != api.RunStateRunning || got.Leased || !got.Swept {
		t.Errorf("run = %+v, want one that waits for another attempt", got)
	}
	b.exec(t, `UPDATE upload_chunks SET first_byte = 0 WHERE first_byte = 7`)
	job.Epoch++
	b.execute(t, job)
	if got := b.run(t, job.SubjectID); got.Result != api.RunResultPass {
		t.Errorf("run = %+v, want one that passed", got)
	}
}

func TestUploadReadAt(t *testing.T) {
	t.Parallel()
	text := largeDocument(1000)
	const chunk = 100
	reads := 0
	large := validations.NewUpload(int64(len(text)), func(at int64) (int64, []byte, error) {
		reads++
		begin := at / chunk * chunk
		return begin, text[begin : begin+chunk], nil
	})
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
	if _, err := io.Copy(io.Discard, io.NewSectionReader(large, 0, int64(len(text)))); err != nil || reads != 10 {
		t.Errorf("reading it through took %d chunks (%v), want 10", reads, err)
	}
	foreign := uuid.New()
	b := setup(t, testConfig())
	none := b.executor.uploadOf(t.Context(), b.orgID, foreign, 1)
	if _, err := none.ReadAt(make([]byte, 1), 0); !errors.Is(err, errUnread) || errors.Is(err, io.EOF) {
		t.Errorf("ReadAt of nothing: error = %v, want %v", err, errUnread)
	}
}
