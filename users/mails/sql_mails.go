package mails

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// sweptMails is how many mails one transaction stages again.
const sweptMails = 100

func queueInsertMail(batch *db.Batch, id uuid.UUID, kind, recipient string, sealed []byte) {
	batch.Queue(`INSERT INTO mails (id, kind, recipient, sealed) VALUES ($1, $2, $3, $4)`, id, kind, recipient, sealed)
}

// beginMail counts an attempt to send a mail, and sets when the next one is due. It returns nil if the mail was sent,
// or another worker has begun this attempt.
func (s *Service) beginMail(ctx context.Context, id uuid.UUID, epoch int) (*waitingMail, error) {
	waiting := waitingMail{id: id}
	err := s.db.Pool.QueryRow(ctx, `
		UPDATE mails SET attempts = attempts + 1, due_at = now() + `+mailPause+`
		WHERE id = $1 AND attempts = $2 RETURNING kind, recipient, sealed`, id, epoch).
		Scan(&waiting.kind, &waiting.recipient, &waiting.sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // nothing to do
	}
	if err != nil {
		return nil, fmt.Errorf("begin to send letter %s: %w", id, err)
	}
	return &waiting, nil
}

// noteMailError stores why a mail was not sent, for the operator. It returns the cause, which is logged.
func (s *Service) noteMailError(ctx context.Context, id uuid.UUID, cause error) error {
	_, err := s.db.Pool.Exec(context.WithoutCancel(ctx), `UPDATE mails SET last_error = $2 WHERE id = $1`, id,
		core.StorableUpTo(cause.Error(), maxMailError))
	if err != nil {
		return errors.Join(cause, fmt.Errorf("note why letter %s was not sent: %w", id, err))
	}
	return cause
}

func (s *Service) deleteMail(ctx context.Context, id uuid.UUID) error {
	if _, err := s.db.Pool.Exec(ctx, `DELETE FROM mails WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete letter %s: %w", id, err)
	}
	return nil
}

// lockDueMails returns the jobs of due mails, and postpones these mails in case the jobs are lost, too.
func lockDueMails(ctx context.Context, tx db.Tx) ([]jobs.Job, error) {
	rows, err := tx.Query(ctx, `
		UPDATE mails SET due_at = now() + interval '1 minute' + `+mailPause+`
		WHERE id = ANY (ARRAY(SELECT id FROM mails WHERE due_at <= now()
			ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED))
		RETURNING id, attempts`, sweptMails)
	if err != nil {
		return nil, fmt.Errorf("look for letters that are due: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (jobs.Job, error) {
		job := jobs.Job{Kind: jobMail}
		err := row.Scan(&job.SubjectID, &job.Epoch)
		return job, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for letters that are due: %w", err)
	}
	return due, nil
}
