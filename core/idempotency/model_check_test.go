package idempotency_test

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

// check compares the database with the model and with its own last state.
func (w *world) check(t *rapid.T) {
	found := w.find(t)
	if diff := cmp.Diff(w.model, found); diff != "" {
		t.Fatalf("keys (-model +database):\n%s", diff)
	}
	for _, now := range found {
		if before, ok := w.seen[now.ID]; ok {
			wantKept(t, before, now)
		}
	}
	for id, before := range w.seen {
		if now, ok := found[before.Key]; ok && now.ID == id {
			continue
		}
		if !before.absent() && id != w.released {
			t.Fatalf("use is gone: %+v", before)
		}
	}
	clear(w.seen)
	for _, now := range found {
		w.seen[now.ID] = now
	}
}

// wantKept checks what is promised between two states of one use.
func wantKept(t *rapid.T, before, now use) {
	if slices.Index(path(), now.Point) < slices.Index(path(), before.Point) || now.Epoch < before.Epoch {
		t.Fatalf("point and epoch = %s, %d, have been %s, %d", now.Point, now.Epoch, before.Point, before.Epoch)
	}
	if before.finished() && (now.Answer != before.Answer || now.Epoch != before.Epoch) {
		t.Fatalf("answer = %q, has been %q", now.Answer, before.Answer)
	}
	for _, point := range path() {
		if strings.Count(now.Effects, string(point)) > 1 {
			t.Fatalf("effects = %s, want each once", now.Effects)
		}
	}
}

// find reads the keys as they are in the database.
func (w *world) find(t *rapid.T) map[string]use {
	rows, err := w.db.Pool.Query(t.Context(), `
		SELECT id, key, replace(request_id, 'request-', ''), recovery_point, epoch,
			coalesce(locked_until > now(), false), expires_at <= now(),
			coalesce(convert_from(response_body, 'UTF8'), ''),
			(SELECT coalesce(string_agg(point, '' ORDER BY e.n), '') FROM effects AS e WHERE e.key_id = k.id)
		FROM idempotency_keys AS k`)
	if err != nil {
		t.Fatal(err)
	}
	uses, err := pgx.CollectRows(rows, pgx.RowToStructByPos[use])
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]use, len(uses))
	for _, u := range uses {
		found[u.Key] = u
	}
	return found
}
