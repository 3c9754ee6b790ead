package validations

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// PendingDocuments are locks on documents that were queued. It is known once the batch was sent which are kept.
type PendingDocuments struct {
	kept *db.Future[map[uuid.UUID]bool]
}

// QueueDocumentLocks looks whether the documents of reruns are still kept. One that is stays until the transaction
// ends, and its new run needs it from then on.
func QueueDocumentLocks(batch *db.Batch, reruns []Prepared) *PendingDocuments {
	if len(reruns) == 0 {
		return &PendingDocuments{kept: db.Known(map[uuid.UUID]bool{})}
	}
	return &PendingDocuments{kept: db.QueueInto(batch, readKept, `
		SELECT id, content IS NOT NULL OR upload_id IS NOT NULL FROM submissions
		WHERE (org_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
		ORDER BY org_id, id FOR SHARE`,
		db.IDColumn(reruns, func(p *Prepared) *uuid.UUID { return &p.Run.OrgID }),
		db.IDColumn(reruns, func(p *Prepared) *uuid.UUID { return &p.Run.SubmissionID }))}
}

// Require answers document_gone where retention has removed the run's document.
func (p *PendingDocuments) Require(run Run) error {
	kept, err := p.kept.Get()
	if err != nil {
		return fmt.Errorf("look for the document of run %s: %w", run.ID, err)
	}
	if !kept[run.SubmissionID] {
		return core.NewError(core.CodeDocumentGone,
			"The run's document is no longer kept, so it cannot be checked again. Start a run with the document.")
	}
	return nil
}

func readKept(rows pgx.Rows) (map[uuid.UUID]bool, error) {
	kept := make(map[uuid.UUID]bool)
	for rows.Next() {
		var id uuid.UUID
		var there bool
		if err := rows.Scan(&id, &there); err != nil {
			return nil, fmt.Errorf("read whether a document is kept: %w", err)
		}
		kept[id] = there
	}
	return kept, rows.Err()
}
