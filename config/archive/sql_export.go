package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// Export writes an organization as of one moment. Unless it is live, the organization has been suspended for a minute,
// longer than an accepted start may take, and has nothing unfinished: then everything that it was ever answered is in
// the archive.
func Export(ctx context.Context, from Place, orgID uuid.UUID, to io.Writer, live bool) (Report, error) {
	return export(ctx, from, orgID, to, live, nil)
}

func export(
	ctx context.Context, from Place, orgID uuid.UUID, to io.Writer, live bool, only *part,
) (Report, error) {
	report := Report{Organization: orgID, Rows: map[string]int64{}}
	ctx = db.Unlimited(ctx)
	tx, err := from.DB.Pool.BeginTx(ctx, pgx.TxOptions{
		IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly,
	})
	if err != nil {
		return report, fmt.Errorf("begin the export: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // It has written nothing.
	e := exporter{tx: tx, objects: from.Objects, orgID: orgID, digest: sha256.New(), report: &report, part: only}
	e.buffered = bufio.NewWriterSize(to, 1<<20)
	e.to = io.MultiWriter(e.buffered, e.digest)
	if err := e.run(ctx, live); err != nil {
		return report, err
	}
	if err := e.buffered.Flush(); err != nil {
		return report, fmt.Errorf("write the archive: %w", err)
	}
	return report, nil
}

type exporter struct {
	tx       pgx.Tx
	objects  *objects.Store
	orgID    uuid.UUID
	buffered *bufio.Writer
	digest   hash.Hash
	// to is both the file and its digest.
	to     io.Writer
	report *Report
	// part is what a move exports at once; nil for an archive.
	part *part
}

func (e exporter) run(ctx context.Context, live bool) error {
	if err := e.writeHeader(ctx, live); err != nil {
		return err
	}
	err := e.writeRows(ctx, organizations, `SELECT row_to_json(r)::text FROM organizations AS r WHERE r.id = $1`)
	if err != nil {
		return err
	}
	if !e.part.skips(table{}) {
		if err := e.writeUsers(ctx); err != nil {
			return err
		}
	}
	for _, t := range tables() {
		if e.part.skips(t) {
			continue
		}
		condition, args := "r.org_id = $1", []any(nil)
		if t.where != "" {
			condition += " AND " + t.where
		}
		if e.part != nil && t.document != "" {
			condition, args = condition+" AND r."+t.document+" <> ALL ($2)", []any{db.IDs(e.part.have)}
		}
		err := e.writeRows(ctx, t.name, fmt.Sprintf(
			`SELECT row_to_json(r)::text FROM %s AS r WHERE %s ORDER BY %s`, t.name, condition, t.order), args...)
		if err == nil && t.name == uploadChunks {
			err = e.writeObjects(ctx)
		}
		if err != nil {
			return err
		}
	}
	sum := e.digest.Sum(nil)
	return e.write(line{End: &end{Rows: e.report.Rows, SHA256: hex.EncodeToString(sum)}})
}

func (e exporter) writeHeader(ctx context.Context, live bool) error {
	var suspended bool
	err := e.tx.QueryRow(ctx, `
		SELECT slug, coalesce(suspended_at <= now() - interval '1 minute', false) AND import_digest IS NULL
		FROM organizations WHERE id = $1`, e.orgID).Scan(&e.report.Slug, &suspended)
	if err != nil {
		return fmt.Errorf("look for the organization: %w", err)
	}
	if !live {
		if !suspended && e.part == nil {
			return ErrNotSuspended
		}
		if err := e.refuseUnfinished(ctx); err != nil {
			return err
		}
	}
	schema, err := schemaOf(ctx, e.tx)
	if err != nil {
		return err
	}
	return e.write(Header{
		Format: Format, Version: Version, Schema: schema, Export: uuid.New(), Organization: e.orgID,
		Slug: e.report.Slug, Live: live,
	})
}

// refuseUnfinished refuses an organization with work that both installations would do.
func (e exporter) refuseUnfinished(ctx context.Context) error {
	var runs, keys int64
	err := e.tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM validation_runs WHERE org_id = $1 AND state <> 'COMPLETED'),
			(SELECT count(*) FROM idempotency_keys WHERE org_id = $1 AND recovery_point <> 'finished')`,
		e.orgID).Scan(&runs, &keys)
	if err != nil {
		return fmt.Errorf("count what is unfinished: %w", err)
	}
	if runs > 0 || keys > 0 {
		return fmt.Errorf("%w: %s and %s; wait for them, cancel the runs and release the keys",
			ErrUnfinished, core.Plural(int(runs), "run"), core.Plural(int(keys), "key"))
	}
	return nil
}

// schemaOf returns the newest migration.
func schemaOf(ctx context.Context, tx pgx.Tx) (int64, error) {
	var schema int64
	err := tx.QueryRow(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&schema)
	if err != nil {
		return 0, fmt.Errorf("read the version of the schema: %w", err)
	}
	return schema, nil
}

func (e exporter) writeUsers(ctx context.Context) error {
	rows, err := e.tx.Query(ctx, `
		SELECT id, email, name, address_confirmed FROM users WHERE id IN (
			SELECT user_id FROM memberships WHERE org_id = $1 UNION SELECT user_id FROM api_tokens WHERE org_id = $1)
		ORDER BY id`, e.orgID)
	if err != nil {
		return fmt.Errorf("read the users: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var u user
		if err := rows.Scan(&u.ID, &u.Email, &u.Name, &u.Confirmed); err != nil {
			return fmt.Errorf("read a user: %w", err)
		}
		if err := e.write(line{User: &u}); err != nil {
			return err
		}
		e.report.Rows["users"]++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the users: %w", err)
	}
	return nil
}

// writeRows writes the rows that a query answers with as JSON.
func (e exporter) writeRows(ctx context.Context, table, query string, args ...any) error {
	rows, err := e.tx.Query(ctx, query, append([]any{e.orgID}, args...)...)
	if err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := e.writeRow(table, rows.RawValues()[0]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	return nil
}

func (e exporter) writeRow(table string, row []byte) error {
	for _, part := range [][]byte{[]byte(`{"table":"` + table + `","row":`), row, []byte("}\n")} {
		if _, err := e.to.Write(part); err != nil {
			return fmt.Errorf("write the archive: %w", err)
		}
	}
	e.report.Rows[table]++
	return nil
}

func (e exporter) write(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if _, err := e.to.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}
