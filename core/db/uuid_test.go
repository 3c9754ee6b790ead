package db_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	pool := coretest.OpenDatabase(t).Pool
	id, other := uuid.New(), uuid.New()

	t.Run("AreWrittenAndRead", func(t *testing.T) {
		t.Parallel()
		var plain uuid.UUID
		var pointer *uuid.UUID
		var nullable uuid.NullUUID
		var text string
		err := pool.QueryRow(t.Context(), `SELECT $1::uuid, $2::uuid, $3::uuid, $1::uuid::text`,
			id, &other, uuid.NullUUID{UUID: id, Valid: true}).Scan(&plain, &pointer, &nullable, &text)
		if err != nil {
			t.Fatal(err)
		}
		if plain != id || pointer == nil || *pointer != other || nullable.UUID != id || text != id.String() {
			t.Errorf("read %s, %s, %v, %s, want what was written", plain, pointer, nullable, text)
		}
	})

	t.Run("MayBeNullWhereTheTypeIs", func(t *testing.T) {
		t.Parallel()
		var pointer *uuid.UUID
		var nullable uuid.NullUUID
		err := pool.QueryRow(t.Context(), `SELECT $1::uuid, $2::uuid`,
			(*uuid.UUID)(nil), uuid.NullUUID{}).Scan(&pointer, &nullable)
		if err != nil {
			t.Fatal(err)
		}
		if pointer != nil || nullable.Valid {
			t.Errorf("read %v and %v, want NULL", pointer, nullable)
		}
		var plain uuid.UUID
		if err := pool.QueryRow(t.Context(), `SELECT NULL::uuid`).Scan(&plain); err == nil {
			t.Error("NULL was read as an id")
		}
	})

	t.Run("StandInArrays", func(t *testing.T) {
		t.Parallel()
		var read []uuid.UUID
		want := []uuid.UUID{id, other}
		if err := pool.QueryRow(t.Context(), `SELECT $1::uuid[]`, want).Scan(&read); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read, want) {
			t.Errorf("read %v, want %v", read, want)
		}
	})
}
