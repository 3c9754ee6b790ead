package validations

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// document makes a document in which no two parts are alike.
func document(size int) []byte {
	var text bytes.Buffer
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	return text.Bytes()[:size]
}

// takenIn takes a large document in.
func (b *bundle) takenIn(tb testing.TB, document []byte) Content {
	tb.Helper()
	content, err := b.service.NewIntake(b.orgID).Take(tb.Context(), document)
	if err != nil {
		tb.Fatalf("Take: %v", err)
	}
	return content
}

// uploaded puts the chunks of an upload together.
func (b *bundle) uploaded(tb testing.TB, id uuid.UUID) []byte {
	tb.Helper()
	return coretest.One[[]byte](tb, b.db, `SELECT coalesce(string_agg(bytes, ''::bytea ORDER BY first_byte), ''::bytea)
		FROM upload_chunks WHERE org_id = $1 AND upload_id = $2`, b.orgID, id)
}

// documentOf puts the chunks of a run's document together.
func (b *bundle) documentOf(tb testing.TB, run uuid.UUID) []byte {
	tb.Helper()
	return b.uploaded(tb, coretest.One[uuid.UUID](tb, b.db, `SELECT upload_id FROM submissions
		WHERE id = (SELECT submission_id FROM validation_runs WHERE id = $1)`, run))
}

func (b *bundle) wantUploads(tb testing.TB, uploads, chunks int64) {
	tb.Helper()
	gotUploads := coretest.One[int64](tb, b.db, `SELECT count(*) FROM uploads`)
	gotChunks := coretest.One[int64](tb, b.db, `SELECT count(*) FROM upload_chunks`)
	if gotUploads != uploads || gotChunks != chunks {
		tb.Errorf("%d uploads with %d chunks, want %d with %d", gotUploads, gotChunks, uploads, chunks)
	}
}

func TestIntake(t *testing.T) {
	t.Parallel()

	ways := map[string]func(in *Intake, document []byte) (Content, error){
		"Read": func(in *Intake, document []byte) (Content, error) {
			return in.Read(t.Context(), bytes.NewReader(document), int64(len(document)))
		},
		"ReadWithoutALength": func(in *Intake, document []byte) (Content, error) {
			return in.Read(t.Context(), iotest.HalfReader(bytes.NewReader(document)), 0)
		},
		"Take": func(in *Intake, document []byte) (Content, error) { return in.Take(t.Context(), document) },
	}
	for name, take := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			for _, size := range []int{
				0, 1, MaxInlineBytes - 1, MaxInlineBytes, MaxInlineBytes + 1, 2 * MaxInlineBytes, 3<<20 + 1,
			} {
				text := document(size)
				content, err := take(b.service.NewIntake(b.orgID), text)
				if err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
				if content.Size != int64(size) || content.SHA256 != sha256.Sum256(text) {
					t.Errorf("%d bytes: size = %d, or another digest", size, content.Size)
				}
				kept := content.Bytes
				if size > MaxInlineBytes {
					kept = b.uploaded(t, content.UploadID)
				}
				if !bytes.Equal(kept, text) || (size > MaxInlineBytes) != (content.UploadID != uuid.Nil) {
					t.Errorf("%d bytes: what was kept is not the document", size)
				}
			}
			b.wantUploads(t, 3, 2+2+13)
		})
	}

	t.Run("StoresNothingIfItIsZero", func(t *testing.T) {
		t.Parallel()
		text := document(MaxInlineBytes + 1)
		content, err := new(Intake).Read(t.Context(), bytes.NewReader(text), 0)
		if err != nil || content.Size != int64(len(text)) || content.SHA256 != sha256.Sum256(text) {
			t.Errorf("Read = %d bytes, %v, want %d and their digest", content.Size, err, len(text))
		}
		if content.Bytes != nil || content.UploadID != uuid.Nil {
			t.Error("the document was kept")
		}
	})

	t.Run("IsNotSweptWhileItArrives", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		hour := readerFunc(func([]byte) (int, error) {
			b.exec(t, `UPDATE uploads SET sweep_after = sweep_after - interval '1 hour'`)
			return 0, io.EOF
		})
		part := document(2 * MaxInlineBytes)
		arriving := io.MultiReader(bytes.NewReader(part), hour, bytes.NewReader(part))
		if _, err := b.service.NewIntake(b.orgID).Read(t.Context(), arriving, 0); err != nil {
			t.Fatal(err)
		}
		b.sweepUploads(t, 0)
	})

	t.Run("FailsWhenTheDocumentIsTruncated", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		intake := b.service.NewIntake(b.orgID)
		broken := io.MultiReader(bytes.NewReader(document(2*MaxInlineBytes+1)), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, err := intake.Read(t.Context(), broken, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error = %v, want %v", err, io.ErrUnexpectedEOF)
		}
		b.wantUploads(t, 1, 2)
		if coretest.One[bool](t, b.db, `SELECT size IS NOT NULL FROM uploads`) {
			t.Error("the upload counts as whole")
		}
		intake.Discard(t.Context())
		b.wantUploads(t, 0, 0)
	})
}

// TestIntakeThatLosesChunks changes the upload while the document arrives.
func TestIntakeThatLosesChunks(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"ToACrashOfTheDatabase":  `DELETE FROM upload_chunks WHERE first_byte > 0`,
		"ToTheSweep":             `DELETE FROM uploads`,
		"AndCannotKeepTheOthers": `ALTER TABLE upload_chunks RENAME TO away`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			event := readerFunc(func([]byte) (int, error) {
				b.exec(t, statement)
				return 0, io.EOF
			})
			whole := document(3 * MaxInlineBytes)
			arriving := io.MultiReader(bytes.NewReader(whole[:5*MaxInlineBytes/2]), event,
				bytes.NewReader(whole[5*MaxInlineBytes/2:]))
			_, err := b.service.NewIntake(b.orgID).Read(t.Context(), arriving, 0)
			if !errors.Is(err, api.CodeUnavailable) {
				t.Errorf("error = %v, want %s", err, api.CodeUnavailable)
			}
		})
	}
}

// readerFunc is a reader that is a function.
type readerFunc func(p []byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) {
	return f(p)
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := b.service.NewIntake(b.orgID)
	content, err := intake.Read(t.Context(), strings.NewReader(string(document(MaxInlineBytes+1))), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.create(t, b.prepared(t, b.workflow(t), content)); err != nil {
		t.Fatal(err)
	}
	intake.Discard(t.Context())
	b.wantUploads(t, 1, 2)
	new(Intake).Discard(t.Context())
}
