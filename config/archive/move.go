package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Move moves an organization from one cell to another, each of which is a complete installation.
//
// Documents are copied while the organization is in use. Then it only reads, until what else there is was copied and
// the former cell has given it up, which is one transaction there: no start can commit in that cell afterwards, and
// none in the new cell before. If that does not come about in time, or the command dies, the organization goes on in
// the former cell. A move that was interrupted is begun again; documents that were copied stay.
type Move struct {
	From, To Place
	OrgID    uuid.UUID
	// Slug names the organization in the record of its deletion, and Cell the cell of To in its former one.
	Slug, Cell string
	// Rest is how long an accepted request may take, and Within how long the organization may only read at most.
	Rest, Within time.Duration
	// Report is told what each step has done.
	Report func(step, text string)
}

// part is what a move copies at once: the documents of an organization in use, or everything else and the documents
// that came since.
type part struct {
	documents bool
	// have are the submissions and uploads that are there.
	have []uuid.UUID
	// inserted is told of rows that were committed.
	inserted func(rows int)
}

func (p *part) skips(t table) bool {
	return p != nil && p.documents && t.document == ""
}

// ErrTooSlow means that the organization would have to, or had to, only read for longer than it may.
var ErrTooSlow = errors.New("it takes longer than --within")

const (
	// copyFactor is how much longer a copy takes than to read what is copied, at most.
	copyFactor = 10
	// fewDocuments is how long a copy of those takes that may be left for the time in which nothing can be started.
	fewDocuments = 2 * time.Second
	// progressEvery is how often a step says how far it has come.
	progressEvery = 5 * time.Second
)

// Run moves the organization, or goes on where another run has stopped.
func (m Move) Run(ctx context.Context) error {
	ctx = db.Unlimited(ctx)
	switch cell, err := m.movedTo(ctx); {
	case err != nil:
		return err
	case cell == "":
		if err := m.give(ctx); err != nil {
			return err
		}
	case cell != m.Cell:
		return fmt.Errorf("%w: it has moved to the cell %s", ErrForeign, cell)
	}
	if err := m.activate(ctx); err != nil {
		return err
	}
	m.Report("switch", "the cell "+m.Cell+" has the organization")
	if err := Delete(ctx, m.From.DB, m.OrgID, m.Slug+", which has moved to the cell "+m.Cell); err != nil {
		return err
	}
	m.Report("delete", "nothing is left in the former cell but the way for its tokens")
	return nil
}

// give copies the organization and gives it up here.
func (m Move) give(ctx context.Context) error {
	if err := m.copyDocuments(ctx); err != nil {
		return err
	}
	if _, err := m.Announce(ctx); err != nil {
		return err
	}
	until, err := m.stop(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	m.Report("stop", "it only reads, until "+until.UTC().Format(time.RFC3339)+" at most")
	bounded, cancel := context.WithTimeoutCause(ctx, m.Within, ErrTooSlow)
	defer cancel()
	if err := m.giveUntil(bounded, until); err != nil {
		return errors.Join(cmp.Or(context.Cause(bounded), err), m.goOn(ctx, until))
	}
	m.Report("switch", fmt.Sprintf("it is given up here, after %s", time.Since(began).Round(time.Millisecond)))
	return nil
}

func (m Move) giveUntil(ctx context.Context, until time.Time) error {
	if err := m.awaitRest(ctx, until); err != nil {
		return err
	}
	m.Report("rest", "everything that was accepted is finished")
	began := time.Now()
	have, err := m.documentsThere(ctx)
	if err != nil {
		return err
	}
	copied, err := m.copy(ctx, "copy", part{have: have})
	if err != nil {
		return err
	}
	m.Report("copy", core.Plural(int(copied.Rows["validation_runs"]), "run")+in(began))
	return m.giveUp(ctx, until, copied.Rows["validation_runs"])
}

// copyDocuments copies the documents that are not there yet, and those that come meanwhile, until few do or no fewer.
func (m Move) copyDocuments(ctx context.Context) error {
	for last := time.Duration(math.MaxInt64); ; {
		began := time.Now()
		have, err := m.documentsThere(ctx)
		if err != nil {
			return err
		}
		copied, err := m.copy(ctx, "documents", part{documents: true, have: have})
		if err != nil {
			return err
		}
		m.Report("documents", core.Plural(int(copied.Rows["submissions"]), "document")+in(began))
		took := time.Since(began)
		if took < fewDocuments || took > last {
			return nil
		}
		last = took
	}
}

// Announce reads all that is to be copied while the organization only reads, and says how long that will take.
func (m Move) Announce(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	have, err := m.documentsThere(ctx)
	if err != nil {
		return 0, err
	}
	found, err := export(db.Unlimited(ctx), m.From, m.OrgID, io.Discard, true, &part{have: have})
	if err != nil {
		return 0, err
	}
	expected := (m.Rest + copyFactor*time.Since(began)).Round(time.Second)
	m.Report("plan", fmt.Sprintf("%s, %s to copy: nothing can be started for about %s, and for %s at most",
		core.Plural(int(found.Rows["validation_runs"]), "run"),
		core.Plural(int(found.Rows["submissions"]), "document"), expected, m.Within))
	if expected > m.Within {
		return 0, fmt.Errorf("%w: about %s", ErrTooSlow, expected)
	}
	return expected, nil
}

// copy exports a part and imports it.
func (m Move) copy(ctx context.Context, step string, p part) (Report, error) {
	done, said := 0, time.Now()
	p.inserted = func(rows int) {
		if done += rows; time.Since(said) >= progressEvery {
			said = time.Now()
			m.Report(step, core.Plural(done, "row")+" so far")
		}
	}
	from, to := io.Pipe()
	var copied Report
	exported := make(chan error, 1)
	go func() {
		var err error
		copied, err = export(ctx, m.From, m.OrgID, to, p.documents, &p)
		_ = to.CloseWithError(err) // It always succeeds.
		exported <- err
	}()
	err := importPart(ctx, m.To, from, &p)
	_ = from.CloseWithError(io.ErrClosedPipe) // It always succeeds.
	if failed := <-exported; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return copied, failed
	}
	return copied, err
}

// importPart imports a part of an organization that is the operator's own. Whoever has imported a part before must not
// go on, because its rows may be older.
func importPart(ctx context.Context, to Place, from io.Reader, p *part) error {
	r := newReader(from)
	header, _, err := r.header()
	if err != nil {
		return err
	}
	number := uuid.New()
	i := newImporter(to, header, sha256.Sum256(number[:]), true)
	i.part = p
	if err := i.run(ctx, r); err != nil {
		return err
	}
	if p.documents {
		return i.verifyDocuments(ctx, nil)
	}
	return i.verifyDocuments(ctx, p.have)
}

func in(began time.Time) string {
	return " in " + time.Since(began).Round(time.Millisecond).String()
}
