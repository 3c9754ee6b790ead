package archive_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/archive"
)

// A move that is begun again takes over from the one before, which may have read the organization earlier: nothing
// that it still writes is there afterwards.
func TestMovesDoNotMix(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	exported(t, from)
	to.lose(t, to.Harbour)
	var first, second bytes.Buffer
	if err := archive.ExportPart(t.Context(), archive.Place{DB: from.DB}, from.Harbour.ID, &first); err != nil {
		t.Fatal(err)
	}
	from.Exec(t, `UPDATE usage_counters SET used = used + 1 WHERE org_id = $1`, from.Harbour.ID)
	if err := archive.ExportPart(t.Context(), archive.Place{DB: from.DB}, from.Harbour.ID, &second); err != nil {
		t.Fatal(err)
	}
	begin, rest, found := strings.Cut(first.String(), `{"table":"usage_counters"`)
	if !found {
		t.Fatal("the export has no counters")
	}
	again := func() error { return archive.ImportPart(t.Context(), archive.Place{DB: to.DB}, &second) }
	late := io.MultiReader(strings.NewReader(begin), meanwhile(again),
		strings.NewReader(`{"table":"usage_counters"`+rest))
	err := archive.ImportPart(t.Context(), archive.Place{DB: to.DB}, late)
	if !errors.Is(err, archive.ErrForeign) || !strings.Contains(err.Error(), "another import") {
		t.Errorf("import that another one has taken over = %v, want it refused", err)
	}
	if diff := cmp.Diff(contents(t, from, from.Harbour.ID), contents(t, to, to.Harbour.ID)); diff != "" {
		t.Errorf("rows (-of the former cell +of the new one):\n%s", diff)
	}
}

// meanwhile reads nothing, and does something when it is its turn.
type meanwhile func() error

func (do meanwhile) Read([]byte) (int, error) {
	if err := do(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
