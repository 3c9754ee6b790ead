package viewer

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/validations"
)

// However many large documents one organization looks at, others look at theirs.
func TestLargeDocumentsAreShared(t *testing.T) {
	t.Parallel()
	app := New(nil, nil, nil)
	documentOf := func(org uuid.UUID, size int64) shownDocument {
		shown := shownDocument{run: validations.Run{OrgID: org}}
		shown.Size = size
		return shown
	}
	busy := uuid.New()
	for range maxDocumentReads {
		if _, err := app.enterDocument(t.Context(), documentOf(busy, maxShownBytes)); err != nil {
			t.Fatal(err)
		}
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := app.enterDocument(soon, documentOf(busy, maxShownBytes)); err == nil {
		t.Error("a document beyond the limit is read, want it to wait")
	}
	if _, err := app.enterDocument(t.Context(), documentOf(uuid.New(), maxShownBytes)); err != nil {
		t.Errorf("the document of another organization = %v, want it read at once", err)
	}
	if _, err := app.enterDocument(t.Context(), documentOf(busy, 1)); err != nil {
		t.Errorf("a small document = %v, want it read at once", err)
	}
}
