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

	"github.com/simplevalidations/simplevalidations/core"
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
func (b *testBundle) takenIn(tb testing.TB, document []byte) Content {
	tb.Helper()
	content, err := b.runs.NewIntake(b.orgID).Take(tb.Context(), document)
	if err != nil {
		tb.Fatalf("Take: %v", err)
	}
	return content
}

// uploaded puts the chunks of an upload together.
func (b *testBundle) uploaded(tb testing.TB, id uuid.UUID) []byte {
	tb.Helper()
	return one[[]byte](tb, b, `SELECT coalesce(string_agg(bytes, ''::bytea ORDER BY first_byte), ''::bytea)
		FROM upload_chunks WHERE org_id = $1 AND upload_id = $2`, b.orgID, id)
}

func (b *testBundle) wantUploads(tb testing.TB, uploads, chunks int64) {
	tb.Helper()
	gotUploads := one[int64](tb, b, `SELECT count(*) FROM uploads`)
	gotChunks := one[int64](tb, b, `SELECT count(*) FROM upload_chunks`)
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
			b := setup(t, testConfig())
			for _, size := range []int{
				0, 1, MaxInlineBytes - 1, MaxInlineBytes, MaxInlineBytes + 1, 2 * MaxInlineBytes, 3<<20 + 1,
			} {
				text := document(size)
				content, err := take(b.runs.NewIntake(b.orgID), text)
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

	t.Run("KeepsNothingOfALargeDocumentWhereItIsZero", func(t *testing.T) {
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

	t.Run("IsOverWhenTheDocumentBreaksOff", func(t *testing.T) {
		t.Parallel()
		b := setup(t, testConfig())
		intake := b.runs.NewIntake(b.orgID)
		broken := io.MultiReader(bytes.NewReader(document(2*MaxInlineBytes+1)), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, err := intake.Read(t.Context(), broken, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error = %v, want %v", err, io.ErrUnexpectedEOF)
		}
		b.wantUploads(t, 1, 2)
		if one[bool](t, b, `SELECT size IS NOT NULL FROM uploads`) {
			t.Error("the upload counts as whole")
		}
		intake.Discard(t.Context())
		b.wantUploads(t, 0, 0)
	})
}

// TestIntakeThatLosesChunks has things happen while a document arrives.
func TestIntakeThatLosesChunks(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"ToACrashOfTheDatabase":  `DELETE FROM upload_chunks WHERE first_byte > 0`,
		"ToTheSweep":             `DELETE FROM uploads`,
		"AndCannotKeepTheOthers": `ALTER TABLE upload_chunks RENAME TO away`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, testConfig())
			event := readerFunc(func([]byte) (int, error) {
				b.exec(t, statement)
				return 0, io.EOF
			})
			whole := document(3 * MaxInlineBytes)
			arriving := io.MultiReader(bytes.NewReader(whole[:5*MaxInlineBytes/2]), event,
				bytes.NewReader(whole[5*MaxInlineBytes/2:]))
			_, err := b.runs.NewIntake(b.orgID).Read(t.Context(), arriving, 0)
			if !core.HasCode(err, core.CodeUnavailable) {
				t.Errorf("error = %v, want %s", err, core.CodeUnavailable)
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
	b := setup(t, testConfig())
	intake := b.runs.NewIntake(b.orgID)
	content, err := intake.Read(t.Context(), strings.NewReader(string(document(MaxInlineBytes+1))), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.createOf(t, b.workflow(t, Definition{}, passing), content); err != nil {
		t.Fatal(err)
	}
	intake.Discard(t.Context())
	b.wantUploads(t, 1, 2)
	new(Intake).Discard(t.Context())
}
