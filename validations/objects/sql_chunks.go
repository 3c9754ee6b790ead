package objects

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// transaction is one of core/db or of pgx.
type transaction interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

// Insert adds the rows of chunks that were put. One is refused if the row of its upload is gone.
func Insert(ctx context.Context, tx transaction, chunks ...Chunk) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO upload_objects (org_id, upload_id, first_byte, size, sha256)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bytea[])
		ON CONFLICT (org_id, upload_id, first_byte) DO NOTHING`,
		db.Column(chunks, func(c *Chunk) *uuid.UUID { return &c.OrgID }),
		db.Column(chunks, func(c *Chunk) *uuid.UUID { return &c.UploadID }),
		db.Column(chunks, func(c *Chunk) int64 { return c.FirstByte }),
		db.Column(chunks, func(c *Chunk) int64 { return c.Size }),
		db.Column(chunks, func(c *Chunk) []byte { return c.SHA256 }))
	return err
}

// Read returns the chunk of an upload that begins at or before a byte, and the offset of the chunk. It returns
// pgx.ErrNoRows if there is none in the store.
func (s *Store) Read(ctx context.Context, database *db.DB, orgID, id uuid.UUID, at int64) (int64, []byte, error) {
	chunk := Chunk{OrgID: orgID, UploadID: id}
	err := database.Pool.QueryRow(ctx, `
		SELECT first_byte, size, sha256 FROM upload_objects
		WHERE org_id = $1 AND upload_id = $2 AND first_byte <= $3 ORDER BY first_byte DESC LIMIT 1`, orgID, id, at).
		Scan(&chunk.FirstByte, &chunk.Size, &chunk.SHA256)
	if err != nil {
		return 0, nil, err
	}
	content, err := s.Get(ctx, chunk)
	return chunk.FirstByte, content, err
}

// AreUsed reports whether the database has documents in a store.
func AreUsed(ctx context.Context, database *db.DB) (bool, error) {
	var used bool
	err := database.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM upload_objects)`).Scan(&used)
	if err != nil {
		return false, fmt.Errorf("look for documents in an object store: %w", err)
	}
	return used, nil
}

// missingBatch is how many rows are compared with the store at once.
const missingBatch = 1000

// Lost is a document of which a chunk is not in the store.
type Lost struct {
	OrgSlug string
	Run     uuid.UUID
}

// Missing calls found for each run whose document has a chunk that is not in the store. It returns how many documents
// should be there.
func (s *Store) Missing(ctx context.Context, database *db.DB, found func(Lost)) (int, error) {
	last, documents := Chunk{FirstByte: -1}, 0
	for {
		chunks, err := db.All(ctx, database.Pool, pgx.RowToStructByPos[Chunk], `
			SELECT org_id, upload_id, first_byte, size, sha256 FROM upload_objects
			WHERE (org_id, upload_id, first_byte) > ($1, $2, $3) ORDER BY org_id, upload_id, first_byte LIMIT $4`,
			last.OrgID, last.UploadID, last.FirstByte, missingBatch)
		if err != nil || len(chunks) == 0 {
			return documents, err
		}
		gone, err := s.missingOf(ctx, chunks)
		if err != nil {
			return documents, err
		}
		lost, err := db.All(ctx, database.Pool, pgx.RowToStructByPos[Lost], `
			SELECT DISTINCT o.slug, r.id FROM unnest($1::uuid[], $2::uuid[]) AS gone (org_id, id)
			JOIN organizations AS o ON o.id = gone.org_id
			JOIN submissions AS s ON s.org_id = gone.org_id AND s.upload_id = gone.id
			JOIN validation_runs AS r ON r.org_id = s.org_id AND r.submission_id = s.id
			ORDER BY 1, 2`,
			db.Column(gone, func(c *Chunk) *uuid.UUID { return &c.OrgID }),
			db.Column(gone, func(c *Chunk) *uuid.UUID { return &c.UploadID }))
		if err != nil {
			return documents, err
		}
		for _, one := range lost {
			found(one)
		}
		for _, c := range chunks {
			if c.FirstByte == 0 {
				documents++
			}
		}
		last = chunks[len(chunks)-1]
	}
}

// missingOf returns the chunks, which are in the order of their names, that are not in the store. One that was put
// after the store was listed is asked for again.
func (s *Store) missingOf(ctx context.Context, chunks []Chunk) ([]Chunk, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, last := chunks[0].name(), chunks[len(chunks)-1].name()
	there := map[string]bool{}
	// The list begins behind a name, so behind one that is shorter.
	for object := range s.list(ctx, first[:len(first)-1]) {
		if object.Err != nil {
			return nil, unavailable("list", first, object.Err)
		}
		if object.Key > last {
			break
		}
		there[object.Key] = true
	}
	var gone []Chunk
	for _, c := range chunks {
		if there[c.name()] {
			continue
		}
		if _, err := s.Get(ctx, c); errors.Is(err, ErrDamaged) {
			gone = append(gone, c)
		} else if err != nil {
			return nil, err
		}
	}
	return gone, nil
}
