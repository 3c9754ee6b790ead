package objects

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/minio/minio-go/v7"

	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// pageSize is how many objects one answer of the store lists.
	pageSize = 1000
	// sweepLimit bounds one call of Sweep. The next one goes on where it was.
	sweepLimit = 30 * time.Minute
	// spared is the age up to which no object is deleted. By then a copy of the database from an earlier time, which
	// lacks what came since, no longer has the epoch of the store.
	spared = 24 * time.Hour
	// ownerName is the object that says which database the store belongs to.
	ownerName = "owner"
	// ownerSize is at least the size of that object.
	ownerSize = 100
)

var (
	// ErrForeign means that the store belongs to another database.
	ErrForeign = errors.New("the object store belongs to another database")
	// ErrEarlier means that the store belongs to a later state of this database.
	ErrEarlier = errors.New("this database was restored to an earlier time than the object store")
	// errOvertaken means that another process has begun a sweep since this one.
	errOvertaken = errors.New("another process sweeps the object store")
)

// Sweep deletes objects of uploads that have no row, and returns how many. It goes through the store once, and goes on
// in the next call where this one has stopped.
//
// An object is listed before its upload is looked up, and was put after its upload was committed. So an upload without
// a row was swept, purged, discarded or lost, and no chunk of it can be inserted any more.
func (s *Store) Sweep(ctx context.Context, database *db.DB) (int64, error) {
	if err := s.CheckOwner(ctx, database); err != nil {
		return 0, fmt.Errorf("sweep the object store: %w", err)
	}
	epoch, after, err := s.raise(ctx, database, owner{})
	if err != nil {
		return 0, fmt.Errorf("sweep the object store: %w", err)
	}
	var swept int64
	for began := time.Now(); time.Since(began) < sweepLimit; {
		page, err := s.page(ctx, after)
		if err != nil {
			return swept, err
		}
		n, err := s.sweepPage(ctx, database, page)
		swept += n
		if err != nil {
			return swept, fmt.Errorf("sweep the object store: %w", err)
		}
		after = ""
		if len(page) == pageSize {
			after = page[len(page)-1].Key
		}
		tag, err := database.Pool.Exec(ctx, `UPDATE object_stores SET after = $2 WHERE epoch = $1`, epoch, after)
		if err == nil && tag.RowsAffected() == 0 {
			err = errOvertaken
		}
		if err != nil || after == "" {
			return swept, err
		}
	}
	return swept, nil
}

// Adopt makes the store that of the database, whatever it belonged to. A database that it belonged to before may no
// longer sweep it.
func (s *Store) Adopt(ctx context.Context, database *db.DB) error {
	former, err := s.owner(ctx)
	if err == nil {
		_, _, err = s.raise(ctx, database, former)
	}
	return err
}

// raise raises the epoch in the database, above that of a former owner, and then in the store. It returns the epoch and
// the name to go on behind. The epoch of the store is never above that of its database, wherever a process dies, and
// soon above that of an earlier copy.
func (s *Store) raise(ctx context.Context, database *db.DB, former owner) (int64, string, error) {
	now, after := owner{}, ""
	err := database.Pool.QueryRow(ctx, `
		INSERT INTO object_stores AS o (id, epoch) VALUES (coalesce($1, gen_random_uuid()), $2 + 1)
		ON CONFLICT (only_one) DO UPDATE SET id = coalesce($1, o.id), epoch = greatest(o.epoch, $2) + 1
		RETURNING id, epoch, after`, former.ID, former.Epoch).Scan(&now.ID, &now.Epoch, &after)
	if err != nil {
		return 0, "", fmt.Errorf("begin a sweep: %w", err)
	}
	text, err := json.Marshal(now)
	if err != nil {
		return 0, "", fmt.Errorf("begin a sweep: %w", err)
	}
	sum := sha256.Sum256(text)
	return now.Epoch, after, s.put(ctx, ownerName, text, sum[:])
}

// CheckOwner returns ErrForeign or ErrEarlier if the store does not belong to this state of this database.
func (s *Store) CheckOwner(ctx context.Context, database *db.DB) error {
	// The store is asked first: the database is never behind it.
	in, err := s.owner(ctx)
	if err != nil || in.ID == nil {
		return err
	}
	var here owner
	err = database.Pool.QueryRow(ctx, `SELECT id, epoch FROM object_stores`).Scan(&here.ID, &here.Epoch)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("look at the epoch of the object store: %w", err)
	}
	switch {
	case here.ID == nil || *in.ID != *here.ID:
		return ErrForeign
	case in.Epoch > here.Epoch:
		return ErrEarlier
	}
	return nil
}

// owner is the database that a store belongs to, and the epoch of its last sweep.
type owner struct {
	ID    *uuid.UUID `json:"database"`
	Epoch int64      `json:"epoch"`
}

// owner reads whose the store is; nobody's if it is new.
func (s *Store) owner(ctx context.Context) (owner, error) {
	text, err := s.get(ctx, ownerName, ownerSize)
	if errors.Is(err, ErrDamaged) {
		return owner{}, nil
	}
	if err != nil {
		return owner{}, err
	}
	var o owner
	if err := json.Unmarshal(text, &o); err != nil {
		return owner{}, fmt.Errorf("%w: %s cannot be read: %w", ErrDamaged, ownerName, err)
	}
	return o, nil
}

// list lists the objects behind a name, in their order.
func (s *Store) list(ctx context.Context, after string) iter.Seq[minio.ObjectInfo] {
	return s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{
		Recursive: true, StartAfter: after, MaxKeys: pageSize,
	})
}

// page lists up to pageSize objects behind a name.
func (s *Store) page(ctx context.Context, after string) ([]minio.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	page := make([]minio.ObjectInfo, 0, pageSize)
	for object := range s.list(ctx, after) {
		if object.Err != nil {
			return nil, unavailable("list", after, object.Err)
		}
		if page = append(page, object); len(page) == pageSize {
			break
		}
	}
	return page, ctx.Err() // A list that was given up looks like one that has ended.
}

// sweepPage deletes the objects of a page whose uploads have no row.
func (s *Store) sweepPage(ctx context.Context, database *db.DB, page []minio.ObjectInfo) (int64, error) {
	var chunks []Chunk
	var listed []minio.ObjectInfo
	for _, object := range page {
		if chunk, ok := uploadOf(object.Key); ok {
			chunks, listed = append(chunks, chunk), append(listed, object)
		}
	}
	var before time.Time
	var orphans []int64
	err := database.Pool.QueryRow(ctx, `
		SELECT now() - $3::interval, ARRAY(
			SELECT number FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS listed (org_id, id, number)
			WHERE NOT EXISTS (SELECT FROM uploads AS u WHERE u.org_id = listed.org_id AND u.id = listed.id))`,
		db.Column(chunks, func(c *Chunk) *uuid.UUID { return &c.OrgID }),
		db.Column(chunks, func(c *Chunk) *uuid.UUID { return &c.UploadID }), spared).Scan(&before, &orphans)
	if err != nil {
		return 0, err
	}
	doomed := func(yield func(minio.ObjectInfo) bool) {
		for _, number := range orphans {
			if object := listed[number-1]; object.LastModified.Before(before) && !yield(object) {
				return
			}
		}
	}
	results, err := s.client.RemoveObjectsWithIter(ctx, s.bucket, doomed, minio.RemoveObjectsOptions{})
	if err != nil {
		return 0, unavailable("delete", "objects", err)
	}
	var swept int64
	for result := range results {
		if err = errors.Join(err, unavailable("delete", result.ObjectName, result.Err)); result.Err == nil {
			swept++
		}
	}
	return swept, err
}
