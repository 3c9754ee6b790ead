package mails

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/mail"
)

// jobMail sends the mail that is its subject. It belongs to no organization: its recipient may belong to none.
const jobMail jobs.Kind = "mail.send"

// The kinds of mails.
const (
	KindInvitation = "invitation"
	KindPassword   = "password"
	// KindForgotten is written when it is sent, so that requesting it takes equally long for addresses with and without
	// an account.
	KindForgotten = "forgotten"
)

// Seal is the place of encrypted mails in the database.
const Seal = "mails.sealed"

// maxMailError is how many characters of the error of a mail are kept.
const maxMailError = 300

// AreSent reports whether the installation sends mail.
func (s *Service) AreSent() bool { return s.cfg.Mail != nil }

// Letter is the text of a mail, which is encrypted while the mail waits. It holds a link, which is a secret.
type Letter struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Stage adds a mail to the transaction that makes it necessary. It does nothing if the installation sends no mail.
func (s *Service) Stage(ctx context.Context, tx db.Tx, kind, recipient string, content *Letter) error {
	if !s.AreSent() {
		return nil
	}
	id, err := core.NewID()
	if err != nil {
		return err
	}
	var sealed []byte
	if content != nil {
		text, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("write a mail: %w", err)
		}
		if sealed, err = s.cfg.Keys.Seal(text, keyring.Binding{OrgID: id, Column: Seal}); err != nil {
			return fmt.Errorf("encrypt a mail: %w", err)
		}
	}
	batch := tx.NewBatch()
	queueInsertMail(batch, id, kind, recipient, sealed)
	jobs.Stage(batch, jobs.Job{Kind: jobMail, SubjectID: id})
	return batch.Send(ctx)
}

// Wake wakes the enqueuer for mails that have just been committed.
func (s *Service) Wake() {
	if s.cfg.Staged != nil {
		s.cfg.Staged.Wake()
	}
}

// Forgotten writes to the user with the address, who has forgotten the password; nil if there is nobody to write to.
type Forgotten func(ctx context.Context, email string) (*Letter, error)

// Tasks registers the handler that sends mails.
func (s *Service) Tasks(register func(jobs.Kind, jobs.Handler), forgotten Forgotten) {
	register(jobMail, func(ctx context.Context, job jobs.Job) error { return s.sendMail(ctx, job, forgotten) })
}

// waitingMail is a mail that is being sent.
type waitingMail struct {
	id              uuid.UUID
	kind, recipient string
	sealed          []byte
}

// sendMail sends one mail, outside of any transaction. A mail is sent twice if the process dies between the server's
// answer and the deletion of the row. A mail that fails is staged again by SweepMails, with a growing back-off.
func (s *Service) sendMail(ctx context.Context, job jobs.Job, forgotten Forgotten) error {
	if !s.AreSent() {
		return errors.New("a mail waits, and no mail server is configured for this process")
	}
	waiting, err := s.beginMail(ctx, job.SubjectID, job.Epoch)
	if err != nil || waiting == nil {
		return err
	}
	message, err := s.writeMail(ctx, *waiting, forgotten)
	if err != nil {
		return s.noteMailError(ctx, waiting.id, err)
	}
	if message != nil {
		err = s.cfg.Mail.Send(ctx, *message)
	}
	if err != nil && !mail.IsRefused(err) {
		return s.noteMailError(ctx, waiting.id, err)
	}
	return errors.Join(err, s.deleteMail(context.WithoutCancel(ctx), waiting.id))
}

// writeMail returns nil if there is no account to write to.
func (s *Service) writeMail(ctx context.Context, waiting waitingMail, forgotten Forgotten) (*mail.Message, error) {
	var content Letter
	if waiting.kind == KindForgotten {
		written, err := forgotten(ctx, waiting.recipient)
		if err != nil || written == nil {
			return nil, err
		}
		content = *written
	} else {
		text, err := s.cfg.Keys.Open(waiting.sealed, keyring.Binding{OrgID: waiting.id, Column: Seal})
		if err != nil {
			return nil, fmt.Errorf("decrypt a mail: %w", err)
		}
		if err := json.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("read a mail: %w", err)
		}
	}
	return &mail.Message{To: waiting.recipient, Subject: content.Subject, Text: content.Text}, nil
}

// SweepMails stages mails again that were not sent, and returns how many.
func (s *Service) SweepMails(ctx context.Context) (int, error) {
	if !s.AreSent() {
		return 0, nil
	}
	n, err := db.InTx(ctx, s.db, func(tx db.Tx) (int, error) {
		due, err := lockDueMails(ctx, tx)
		if err != nil || len(due) == 0 {
			return 0, err
		}
		batch := tx.NewBatch()
		jobs.Stage(batch, due...)
		return len(due), batch.Send(ctx)
	})
	if n > 0 {
		s.Wake()
	}
	return n, err
}

// mailPause is the back-off after the given number of attempts, as SQL: from half a minute to an hour.
const mailPause = `make_interval(secs => least(3600, 15 * power(2, least(attempts, 12))))`
