package validations

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// queueAdoptions keeps the uploads of prepared runs from being swept. It takes no notice of one that has been swept:
// there, or where somebody has it already, the constraints of the submissions refuse.
func queueAdoptions(batch *db.Batch, prepared []Prepared) {
	var orgs, uploads []uuid.UUID
	for _, p := range prepared {
		if p.Submission.UploadID != nil {
			orgs, uploads = append(orgs, p.Submission.OrgID), append(uploads, *p.Submission.UploadID)
		}
	}
	if len(uploads) == 0 {
		return
	}
	batch.Queue(`
		UPDATE uploads AS u SET sweep_after = NULL FROM unnest($1::uuid[], $2::uuid[]) AS a (org_id, id)
		WHERE u.org_id = a.org_id AND u.id = a.id`, orgs, uploads)
}

// IsUploadGone reports whether a run was refused because its document, which was taken in before, is not there any
// more.
func IsUploadGone(err error) bool {
	return db.ViolatedConstraint(err) == "fk_submissions_upload"
}

// uploadBatch keeps the transactions of the sweep short: an upload may have many megabytes.
const uploadBatch = 10

// SweepUploads deletes uploads that no run has adopted within an hour, or whose time is over. It passes over what is
// being adopted right now, and returns how many it deleted.
func (s *Service) SweepUploads(ctx context.Context) (int, error) {
	swept, err := db.InTx(ctx, s.db, func(tx db.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, `
			DELETE FROM uploads WHERE (org_id, id) IN (SELECT org_id, id FROM uploads
				WHERE sweep_after <= now() ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED)`, uploadBatch)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep uploads: %w", err)
	}
	return int(swept), nil
}
