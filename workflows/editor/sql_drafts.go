package editor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// storedDraft is the text that an author has written for the next version of a workflow. It starts no runs.
type storedDraft struct {
	// Revision is 0 where there is no draft.
	Revision  int
	Base      string
	Body      string
	UpdatedBy string
	UpdatedAt time.Time
}

// findDraft reads the draft of a workflow. It returns the zero draft if there is none.
func (a *App) findDraft(ctx context.Context, orgID, workflowID uuid.UUID) (storedDraft, error) {
	var draft storedDraft
	err := a.DB.Pool.QueryRow(ctx, `
		SELECT d.revision, d.base, d.body, coalesce(nullif(u.name, ''), u.email, ''), d.updated_at
		FROM workflow_drafts AS d LEFT JOIN users AS u ON u.id = d.updated_by
		WHERE d.org_id = $1 AND d.workflow_id = $2`, orgID, workflowID,
	).Scan(&draft.Revision, &draft.Base, &draft.Body, &draft.UpdatedBy, &draft.UpdatedAt)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return storedDraft{}, fmt.Errorf("read the draft of workflow %s: %w", workflowID, err)
	}
	return draft, nil
}

// errDraftedMeanwhile is the cause of the refusal of a draft that would overwrite another one.
var errDraftedMeanwhile = errors.New("the draft was changed meanwhile")

// saveDraft stores a draft in place of the revision that its author has seen, 0 for none.
func (a *App) saveDraft(
	ctx context.Context, principal core.Principal, workflowID uuid.UUID, draft storedDraft,
) error {
	values := []any{principal.OrgID, workflowID, draft.Revision, draft.Base, draft.Body, principal.UserID}
	tag, err := a.DB.Pool.Exec(ctx, `
		INSERT INTO workflow_drafts (org_id, workflow_id, revision, base, body, updated_by)
		SELECT $1, $2, 1, $4, $5, $6 WHERE $3 = 0
		ON CONFLICT ON CONSTRAINT workflow_drafts_pkey DO NOTHING`, values...)
	if err == nil && tag.RowsAffected() == 0 {
		tag, err = a.DB.Pool.Exec(ctx, `
			UPDATE workflow_drafts
			SET revision = revision + 1, base = $4, body = $5, updated_by = $6, updated_at = now()
			WHERE org_id = $1 AND workflow_id = $2 AND (revision = $3 OR body = $5)`, values...)
	}
	if err != nil {
		return fmt.Errorf("save the draft of workflow %s: %w", workflowID, err)
	}
	if tag.RowsAffected() == 0 {
		return core.InvalidPayload(
			"The draft was changed in the meantime. Nothing was saved: saving it again replaces it with this text.",
		).Because(errDraftedMeanwhile)
	}
	return nil
}

// discardDraft deletes the draft of a workflow, if it has one.
func (a *App) discardDraft(ctx context.Context, orgID, workflowID uuid.UUID) error {
	_, err := a.DB.Pool.Exec(ctx, `DELETE FROM workflow_drafts WHERE org_id = $1 AND workflow_id = $2`,
		orgID, workflowID)
	if err != nil {
		return fmt.Errorf("discard the draft of workflow %s: %w", workflowID, err)
	}
	return nil
}

// dropDraft deletes the draft that the transaction publishes. A draft that was changed since its author has seen it
// stays.
func dropDraft(ctx context.Context, tx db.Tx, orgID, workflowID uuid.UUID, revision int) error {
	_, err := tx.Exec(ctx, `DELETE FROM workflow_drafts WHERE org_id = $1 AND workflow_id = $2 AND revision = $3`,
		orgID, workflowID, revision)
	if err != nil {
		return fmt.Errorf("delete the published draft of workflow %s: %w", workflowID, err)
	}
	return nil
}
