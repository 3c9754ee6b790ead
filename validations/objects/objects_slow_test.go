//go:build slow

package objects_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/objectstore"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// day is longer than objects are spared, and a moment longer than a store's clock is coarse.
const day = 25 * time.Hour

type bundle struct {
	db     *db.DB
	server *objectstore.Server
	store  *objects.Store
	org    uuid.UUID
}

func newBundle(tb testing.TB) *bundle {
	tb.Helper()
	b := &bundle{db: coretest.OpenDatabase(tb), server: objectstore.Start(tb), org: uuid.New()}
	b.store = open(tb, b.server.URL())
	return b
}

func open(tb testing.TB, address string) *objects.Store {
	tb.Helper()
	store, err := objects.Open(address)
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// upload makes the row of an upload.
func (b *bundle) upload(tb testing.TB) uuid.UUID {
	tb.Helper()
	id := uuid.New()
	b.exec(tb, `INSERT INTO uploads (org_id, id) VALUES ($1, $2)`, b.org, id)
	return id
}

func (b *bundle) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := b.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// put stores a chunk without its row.
func (b *bundle) put(tb testing.TB, upload uuid.UUID, firstByte int64, text string) objects.Chunk {
	tb.Helper()
	chunk := objects.NewChunk(b.org, upload, firstByte, []byte(text))
	if err := b.store.Put(tb.Context(), chunk, []byte(text)); err != nil {
		tb.Fatal(err)
	}
	return chunk
}

// stored stores a chunk with its row.
func (b *bundle) stored(tb testing.TB, upload uuid.UUID, firstByte int64, text string) objects.Chunk {
	tb.Helper()
	chunk := b.put(tb, upload, firstByte, text)
	if err := objects.Insert(tb.Context(), b.db.Pool, chunk); err != nil {
		tb.Fatal(err)
	}
	return chunk
}

func (b *bundle) sweep(tb testing.TB, store *objects.Store, want int64) {
	tb.Helper()
	if got, err := store.Sweep(tb.Context(), b.db); err != nil || got != want {
		tb.Errorf("Sweep = %d, %v, want %d", got, err, want)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	if err := b.store.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	chunk := b.put(t, uuid.New(), 0, "text")
	if got, err := b.store.Get(t.Context(), chunk); err != nil || string(got) != "text" {
		t.Errorf("Get = %q, %v, want text", got, err)
	}
	other := objects.NewChunk(b.org, uuid.New(), 0, []byte("other"))
	if _, err := b.store.Get(t.Context(), other); !errors.Is(err, objects.ErrDamaged) {
		t.Errorf("Get of what is not there: error = %v, want %v", err, objects.ErrDamaged)
	}
	if err := b.store.Put(t.Context(), other, []byte("what was changed on its way")); err == nil {
		t.Error("the store took bytes with another digest")
	}
	for name, change := range map[string]string{"Changed": "tex!", "Longer": "text and more", "Shorter": "te"} {
		if err := os.WriteFile(b.server.Path(b.server.Objects(t)[0]), []byte(change), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := b.store.Get(t.Context(), chunk); name != "Longer" && err == nil {
			t.Errorf("%s: Get = %q, want an error", name, got)
		}
	}
	b.server.Kill()
	if _, err := b.store.Get(t.Context(), chunk); !errors.Is(err, objects.ErrUnavailable) {
		t.Errorf("Get without a server: error = %v, want %v", err, objects.ErrUnavailable)
	}
	if err := b.store.Check(t.Context()); !errors.Is(err, objects.ErrUnavailable) {
		t.Errorf("Check without a server: error = %v, want %v", err, objects.ErrUnavailable)
	}
}

// TestFaults has a server between that breaks answers off, and fails at times.
func TestFaults(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	chunk := b.put(t, uuid.New(), 0, "text")
	behind := func(answer http.HandlerFunc) *objects.Store {
		return open(t, b.server.Behind(t, func(http.Handler) http.Handler { return answer }))
	}
	truncates := behind(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_, _ = w.Write([]byte("te"))
	})
	if _, err := truncates.Get(t.Context(), chunk); !errors.Is(err, objects.ErrUnavailable) {
		t.Errorf("an answer that breaks off: error = %v, want %v", err, objects.ErrUnavailable)
	}
	lies := behind(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		_, _ = w.Write([]byte("tex!"))
	})
	if _, err := lies.Get(t.Context(), chunk); !errors.Is(err, objects.ErrDamaged) {
		t.Errorf("other bytes: error = %v, want %v", err, objects.ErrDamaged)
	}
	fails := behind(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	if _, err := fails.Get(t.Context(), chunk); !errors.Is(err, objects.ErrUnavailable) {
		t.Errorf("500: error = %v, want %v", err, objects.ErrUnavailable)
	}
	failed := false
	once := open(t, b.server.Behind(t, func(store http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !failed {
				failed = true
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			store.ServeHTTP(w, r)
		})
	}))
	if got, err := once.Get(t.Context(), chunk); err != nil || string(got) != "text" {
		t.Errorf("after one 503: Get = %q, %v, want text", got, err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()

	t.Run("DeletesWhatNoUploadNames", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		kept, pending, gone := b.upload(t), b.upload(t), b.upload(t)
		chunk := b.stored(t, kept, 0, "kept")
		b.put(t, pending, 0, "its row comes later")
		b.stored(t, gone, 0, "one")
		b.stored(t, gone, 3, "two")
		b.exec(t, `DELETE FROM uploads WHERE id = $1`, gone)
		b.sweep(t, b.store, 0)
		b.server.Age(t, day)
		b.put(t, uuid.New(), 0, "young")
		b.sweep(t, b.store, 2)
		b.sweep(t, b.store, 0)
		if names := b.server.Objects(t); len(names) != 3 {
			t.Errorf("objects = %q, want three", names)
		}
		if _, err := b.store.Get(t.Context(), chunk); err != nil {
			t.Error(err)
		}
	})

	t.Run("GoesThroughAllPages", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		for range 2100 {
			b.put(t, uuid.New(), 0, "x")
		}
		b.server.Age(t, day)
		b.sweep(t, b.store, 2100)
	})

	t.Run("RefusesAnEarlierCopy", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.sweep(t, b.store, 0)
		copied := coretest.One[int64](t, b.db, `SELECT epoch FROM object_stores`)
		b.sweep(t, b.store, 0)
		b.put(t, uuid.New(), 0, "lost")
		b.server.Age(t, day)
		b.exec(t, `UPDATE object_stores SET epoch = $1`, copied)
		if _, err := b.store.Sweep(t.Context(), b.db); !errors.Is(err, objects.ErrEarlier) {
			t.Errorf("Sweep of a copy: error = %v, want %v", err, objects.ErrEarlier)
		}
		if n := len(b.server.Objects(t)); n != 1 {
			t.Errorf("%d objects, want one", n)
		}
		if err := b.store.Adopt(t.Context(), b.db); err != nil {
			t.Fatal(err)
		}
		b.sweep(t, b.store, 1)
		b.exec(t, `UPDATE object_stores SET epoch = $1 + 1`, copied)
		if err := b.store.CheckOwner(t.Context(), b.db); !errors.Is(err, objects.ErrEarlier) {
			t.Errorf("the former database: error = %v, want %v", err, objects.ErrEarlier)
		}
	})

	t.Run("RefusesAnotherDatabase", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.sweep(t, b.store, 0)
		b.exec(t, `UPDATE object_stores SET id = gen_random_uuid(), epoch = 100`)
		if _, err := b.store.Sweep(t.Context(), b.db); !errors.Is(err, objects.ErrForeign) {
			t.Errorf("Sweep: error = %v, want %v", err, objects.ErrForeign)
		}
	})

	t.Run("GoesOnAfterAKillBetweenTheDatabaseAndTheStore", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.sweep(t, b.store, 0)
		dead, cancel := context.WithCancel(t.Context())
		killed := open(t, b.server.Behind(t, func(store http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					cancel()
					panic(http.ErrAbortHandler)
				}
				store.ServeHTTP(w, r)
			})
		}))
		if _, err := killed.Sweep(dead, b.db); err == nil {
			t.Error("the sweep goes on without its epoch in the store")
		}
		b.sweep(t, b.store, 0)
	})
}

func TestMissing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for range 3 {
		upload := b.upload(t)
		b.stored(t, upload, 0, "first")
		b.stored(t, upload, 5, "second")
	}
	b.put(t, uuid.New(), 0, "what no row names")
	count := func() (int, error) { return b.store.Missing(t.Context(), b.db, func(objects.Lost) {}) }
	if n, err := count(); n != 3 || err != nil {
		t.Errorf("Missing = %d, %v, want 3 documents", n, err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	upload := b.upload(t)
	b.stored(t, upload, 0, "first")
	b.stored(t, upload, 5, "second")
	for at, want := range map[int64]string{0: "first", 4: "first", 5: "second", 10: "second"} {
		_, got, err := b.store.Read(t.Context(), b.db, b.org, upload, at)
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("Read at %d = %q, %v, want %q", at, got, err, want)
		}
	}
	var none *objects.Store
	if _, _, err := none.Read(t.Context(), b.db, b.org, upload, 0); !errors.Is(err, objects.ErrNoStore) {
		t.Errorf("Read without a store: error = %v, want %v", err, objects.ErrNoStore)
	}
	if err := objects.Insert(t.Context(), b.db.Pool, objects.NewChunk(b.org, uuid.New(), 0, []byte("x"))); err == nil {
		t.Error("a chunk has no upload")
	}
}
