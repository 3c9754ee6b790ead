package db_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	pool := coretest.OpenDatabase(t).Pool
	id := uuid.New()

	t.Run("AreReadAsTheyWereWritten", func(t *testing.T) {
		t.Parallel()
		type row struct {
			id    *uuid.UUID
			text  string
			bytes []byte
		}
		rows := []row{
			{id: &id, text: "first", bytes: []byte{0, 1}}, {text: "ü, \"quoted\" {NULL}"}, {id: &id, bytes: []byte{}},
		}
		for _, rows := range [][]row{rows, rows[:1], {}} {
			var ids []*uuid.UUID
			var texts []string
			var bytes [][]byte
			var bounds *string
			err := pool.QueryRow(t.Context(), `SELECT $1::uuid[], $2::text[], $3::bytea[], array_dims($1::uuid[])`,
				db.Column(rows, func(r *row) *uuid.UUID { return r.id }),
				db.Column(rows, func(r *row) string { return r.text }),
				db.Column(rows, func(r *row) []byte { return r.bytes })).Scan(&ids, &texts, &bytes, &bounds)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) != len(rows) || len(texts) != len(rows) || len(bytes) != len(rows) {
				t.Fatalf("read %v, %q and %q, want %d of each", ids, texts, bytes, len(rows))
			}
			for i, want := range rows {
				got := []any{ids[i], texts[i], bytes[i]}
				if diff := cmp.Diff([]any{want.id, want.text, want.bytes}, got); diff != "" {
					t.Errorf("row %d of %d: -want +got\n%s", i+1, len(rows), diff)
				}
			}
			if len(rows) > 0 && (bounds == nil || *bounds != fmt.Sprintf("[1:%d]", len(rows))) {
				t.Errorf("the column of %d ids has the bounds %v, want those of an ordinary array", len(rows), bounds)
			}
		}
	})

	t.Run("AreConvertedToOtherTypes", func(t *testing.T) {
		t.Parallel()
		var texts []string
		err := pool.QueryRow(t.Context(), `SELECT $1::uuid[]::text[]`, []string{id.String()}).Scan(&texts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{id.String()}, texts); diff != "" {
			t.Errorf("ids as texts: -want +got\n%s", diff)
		}
	})

	t.Run("MayBeNull", func(t *testing.T) {
		t.Parallel()
		var null bool
		err := pool.QueryRow(t.Context(), `SELECT $1::text[] IS NULL AND $2::bytea[] IS NULL`,
			[]string(nil), [][]byte(nil)).Scan(&null)
		if err != nil {
			t.Fatal(err)
		}
		if !null {
			t.Error("a column that is nil was not NULL")
		}
	})
}
