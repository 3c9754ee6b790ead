package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

// Import makes the organization of an archive, suspended. An import that was interrupted is repeated with the same
// archive: what is there already stays. An empty slug is the organization's own.
//
// People who have an account here are invited, and their tokens arrive revoked: an archive could name anybody. trust
// says that the operator answers for the archive, so that they are members at once and their tokens work.
func Import(ctx context.Context, to Place, from io.Reader, slug string, trust bool) (Report, error) {
	ctx = db.Unlimited(ctx)
	r := newReader(from)
	header, first, err := r.header()
	if err != nil {
		return Report{}, err
	}
	if header.Live {
		return Report{}, errLive
	}
	if slug != "" {
		header.Slug = slug
	}
	i := newImporter(to, header, sha256.Sum256(first), trust)
	if err := i.run(ctx, r); err != nil {
		return Report{}, err
	}
	report := Report{Organization: header.Organization, Slug: header.Slug, Rows: r.rows}
	for _, person := range i.asked {
		report.Existing = append(report.Existing, person.email)
	}
	slices.Sort(report.Existing)
	return report, i.finish(ctx)
}

func newImporter(to Place, header Header, digest [sha256.Size]byte, trust bool) *importer {
	return &importer{
		database: to.DB, objects: to.Objects, header: header, digest: digest, trust: trust,
		users: map[uuid.UUID]uuid.UUID{}, asked: map[uuid.UUID]asked{},
	}
}

type importer struct {
	database *db.DB
	objects  *objects.Store
	header   Header
	// digest is that of the header, which is another one for each export, or the number of a move.
	digest [sha256.Size]byte
	trust  bool
	// part is what a move imports at once; nil for an archive.
	part *part
	// users has the ids of users here by those of the archive.
	users map[uuid.UUID]uuid.UUID
	// asked are the people who have an account here, by the id of the archive; none if the operator trusts it.
	asked map[uuid.UUID]asked
	// at is the place of the current table, and rows are those that are not inserted yet.
	at   int
	rows [][]byte
	size int
	// tx is open between two tables that refer to each other.
	tx pgx.Tx
}

func (i *importer) run(ctx context.Context, r *reader) error {
	defer i.rollback(ctx)
	l, err := r.next()
	if err != nil {
		return err
	}
	if l.Table != organizations || l.Row == nil {
		return fmt.Errorf("%w: the organization itself is missing", ErrDamaged)
	}
	if err := i.begin(ctx, l.Row); err != nil {
		return err
	}
	for {
		l, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return i.flush(ctx)
		case err != nil:
			return err
		case l.User != nil:
			err = i.addUser(ctx, *l.User)
		case l.End == nil:
			err = i.addRow(ctx, l)
		}
		if err != nil {
			return err
		}
	}
}

// begin creates the organization, or finds it as this archive's import has left it.
func (i *importer) begin(ctx context.Context, row []byte) error {
	tx, err := i.database.Pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin the import: %w", err)
	}
	i.tx = tx
	schema, err := schemaOf(ctx, tx)
	if err != nil {
		return err
	}
	if schema != i.header.Schema {
		return fmt.Errorf("%w: its schema is %d and the one here is %d; upgrade the older installation first",
			ErrForeign, i.header.Schema, schema)
	}
	var importing []byte
	err = tx.QueryRow(ctx, `SELECT import_digest FROM organizations WHERE id = $1 FOR UPDATE`,
		i.header.Organization).Scan(&importing)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		if err := i.create(ctx, row); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("look for the organization: %w", err)
	case importing != nil && i.part != nil:
		if err := i.takeOver(ctx, row); err != nil {
			return err
		}
	case importing == nil:
		return fmt.Errorf("%w: the organization is here already, complete; org list tells whether it is suspended, "+
			"and org set SLUG --suspended=false --reason TEXT ends that", ErrForeign)
	case !bytes.Equal(importing, i.digest[:]):
		return fmt.Errorf("%w: the import of another archive of the organization has not ended; repeat it with that "+
			"one, or delete the organization", ErrForeign)
	}
	return i.commit(ctx)
}

func (i *importer) create(ctx context.Context, row []byte) error {
	set := map[string]string{
		"id": "$2", "slug": "$3", "suspended_at": "now()", "import_digest": "$4", "access_tag": "gen_random_uuid()",
		"moving_until": "NULL", "moved_to": "NULL",
	}
	columns, err := columnsOf(ctx, i.tx, organizations)
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	for n, column := range columns {
		values[n] = "r." + column
		if value, ok := set[column]; ok {
			values[n] = value
		}
	}
	_, err = i.tx.Exec(ctx, fmt.Sprintf(
		`INSERT INTO organizations (%s) SELECT %s FROM json_populate_record(NULL::organizations, $1::text::json) AS r`,
		strings.Join(columns, ", "), strings.Join(values, ", ")),
		string(row), i.header.Organization, i.header.Slug, i.digest[:])
	if db.ViolatedConstraint(err) == "uq_organizations_slug" {
		return fmt.Errorf("%w: another organization is called %q; --slug gives it another name", ErrForeign,
			i.header.Slug)
	}
	return refused(organizations, err)
}

// addRow keeps a row until there are enough for a statement.
func (i *importer) addRow(ctx context.Context, l line) error {
	all := tables()
	if all[i.at].name != l.Table {
		if err := i.flush(ctx); err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(t table) bool { return t.name == l.Table })
		if at < 0 {
			return errNoTable(l.Table)
		}
		if at < i.at {
			return fmt.Errorf("%w: the rows of %s come too late", ErrDamaged, l.Table)
		}
		i.at = at
	}
	if check := all[i.at].check; check != nil {
		if err := check(l.Row); err != nil {
			return err
		}
	}
	if l.Table == "memberships" {
		if isAsked, err := i.ask(l.Row); isAsked || err != nil {
			return err
		}
	}
	i.rows, i.size = append(i.rows, l.Row), i.size+len(l.Row)
	if len(i.rows) < batchRows && i.size < batchBytes {
		return nil
	}
	return i.flush(ctx)
}

// flush inserts the rows that were kept.
func (i *importer) flush(ctx context.Context) error {
	t := tables()[i.at]
	if len(i.rows) > 0 {
		if err := i.insertClaimed(ctx, t); err != nil {
			return err
		}
		if i.part != nil {
			i.part.inserted(len(i.rows))
		}
		i.rows, i.size = nil, 0
	}
	if t.open {
		return nil
	}
	return i.commit(ctx)
}

// insertClaimed inserts rows, or puts them into the object store.
func (i *importer) insertClaimed(ctx context.Context, t table) error {
	if t.name == uploadChunks && i.objects != nil {
		return i.putObjects(ctx)
	}
	if err := i.claim(ctx); err != nil {
		return err
	}
	return i.insert(ctx, t)
}

// insert inserts rows with the organization that this import has created, whatever they say. A row that belongs to
// another organization by an identity of its own is refused by its constraint.
func (i *importer) insert(ctx context.Context, t table) error {
	columns, err := columnsOf(ctx, i.tx, t.name)
	if err != nil {
		return err
	}
	var theirs, ours []uuid.UUID
	var asked []bool
	for their, our := range i.users {
		_, isAsked := i.asked[their]
		theirs, ours, asked = append(theirs, their), append(ours, our), append(asked, isAsked)
	}
	values := make([]string, len(columns))
	for n, column := range columns {
		here := "(SELECT our FROM here WHERE their = r." + column + ")"
		switch {
		case column == "org_id":
			values[n] = "$2::uuid"
		case t.name == "api_tokens" && column == "revoked_at":
			values[n] = `CASE WHEN (SELECT asked FROM here WHERE their = r.user_id)
				THEN coalesce(r.revoked_at, now()) ELSE r.revoked_at END`
		case slices.Contains(t.members, column):
			values[n] = here
		case slices.Contains(t.users, column):
			values[n] = "coalesce(" + here + ", r." + column + ")"
		default:
			values[n] = "r." + quoted(column)
		}
		columns[n] = quoted(column)
	}
	batch := append(append([]byte{'['}, bytes.Join(i.rows, []byte{','})...), ']')
	_, err = i.tx.Exec(ctx, fmt.Sprintf(`
		WITH here AS (SELECT * FROM unnest($3::uuid[], $4::uuid[], $5::boolean[]) AS u (their, our, asked))
		INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE
		SELECT %s FROM json_populate_recordset(NULL::%[1]s, $1::text::json) AS r
		ON CONFLICT (org_id, %[4]s) DO NOTHING`,
		t.name, strings.Join(columns, ", "), strings.Join(values, ", "), t.key),
		string(batch), i.header.Organization, theirs, ours, asked)
	return refused(t.name, err)
}

// claim begins a transaction unless one is open, keeps others from beginning an import of the organization until it
// ends, and demands that none has begun since this one.
func (i *importer) claim(ctx context.Context) error {
	if i.tx == nil {
		tx, err := i.database.Pool.Begin(ctx)
		if err != nil {
			return fmt.Errorf("begin a part of the import: %w", err)
		}
		i.tx = tx
	}
	tag, err := i.tx.Exec(ctx, `SELECT FROM organizations WHERE id = $1 AND import_digest = $2 FOR SHARE`,
		i.header.Organization, i.digest[:])
	if err == nil && tag.RowsAffected() == 0 {
		return fmt.Errorf("%w: another import of the organization has begun, or it was deleted", ErrForeign)
	}
	return refused(organizations, err)
}

func (i *importer) commit(ctx context.Context) error {
	if i.tx == nil {
		return nil
	}
	tx := i.tx
	i.tx = nil
	return refused("the organization", tx.Commit(ctx))
}

func (i *importer) rollback(ctx context.Context) {
	if i.tx != nil {
		_ = i.tx.Rollback(context.WithoutCancel(ctx)) // The connection ends with it.
	}
}

// finish verifies the documents in chunks, invites the people who have an account, and makes the organization one that
// can be resumed. They may answer for longer than to a member's invitation, because nobody may be there to repeat it.
func (i *importer) finish(ctx context.Context) error {
	if err := i.verifyDocuments(ctx, nil); err != nil {
		return err
	}
	err := db.Do(ctx, i.database, func(tx db.Tx) error {
		batch := tx.NewBatch()
		for _, person := range i.asked {
			if person.role != "" {
				batch.Queue(`INSERT INTO invitations (org_id, id, email, name, role, invited_by, expires_at)
					VALUES ($1, gen_random_uuid(), $2, $3, $4, $5, now() + interval '30 days')
					ON CONFLICT (org_id, email) WHERE state = 'open' DO UPDATE
					SET role = excluded.role, invited_by = excluded.invited_by, expires_at = excluded.expires_at`,
					i.header.Organization, person.email, person.name, person.role, uuid.Nil)
			}
		}
		batch.Queue(`UPDATE organizations SET import_digest = NULL WHERE id = $1`, i.header.Organization)
		core.Audit(batch, core.AuditRecord{
			OrgID: i.header.Organization, Action: "organization.import", TargetType: "organization",
			TargetID: i.header.Organization.String(), Detail: i.header.Slug,
		})
		return batch.Send(ctx)
	})
	if err != nil {
		return fmt.Errorf("end the import: %w", err)
	}
	return nil
}

// columnsOf returns the columns of a table as they are here.
func columnsOf(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	columns, err := db.All(ctx, tx, pgx.RowTo[string], `
		SELECT attname::text FROM pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, table)
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return columns, nil
}

func quoted(column string) string { return pgx.Identifier{column}.Sanitize() }

// refused distinguishes faults of the archive from errors of the database.
func refused(table string, err error) error {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return nil
	case ok && (strings.HasPrefix(failure.Code, "22") || strings.HasPrefix(failure.Code, "23")):
		return fmt.Errorf("%w: a row of %s: %s", ErrForeign, table, failure.Message)
	default:
		return fmt.Errorf("import %s: %w", table, err)
	}
}
