// Package mails sends mails to users. A mail commits with its cause, waits encrypted in a table, and is sent by a
// worker.
package mails

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/mail"
)

// Config is what the service needs beside the database. Its zero value sends no mail.
type Config struct {
	// Keys encrypt mails that wait.
	Keys keyring.Ring
	// Mail sends mail; nil if the installation sends none.
	Mail *mail.Sender
	// Staged is woken when a mail was staged.
	Staged *jobs.Signal
}

// Service keeps mails until they are sent.
type Service struct {
	db  *db.DB
	cfg Config
}

// NewService makes the service.
func NewService(database *db.DB, cfg Config) *Service {
	return &Service{db: database, cfg: cfg}
}

// jobMail sends the mail that is its subject. It belongs to no organization: its recipient may belong to none.
const jobMail jobs.Kind = "mail.send"

// The kinds of mails.
const (
	KindInvitation = "invitation"
	KindPassword   = "password"
	// KindForgotten is written when it is sent, so that requesting it takes equally long for addresses with and without
	// an account.
	KindForgotten = "forgotten"
	// KindNotice tells of a change of the account.
	KindNotice = "notice"
)

// sealColumn is the place of encrypted mails in the database.
const sealColumn = "mails.sealed"

const (
	// maxMailError is how many characters of the error of a mail are kept.
	maxMailError = 300
	// sweptMails is how many mails one transaction stages again.
	sweptMails = 100
	// mailPause is the back-off after the given number of attempts, as SQL: from half a minute to an hour.
	mailPause = `make_interval(secs => least(3600, 15 * power(2, least(attempts, 12))))`
)

// waitingMail is a mail that waits or is being sent.
type waitingMail struct {
	ID              uuid.UUID `gorm:"primaryKey"`
	Kind, Recipient string
	Sealed          []byte
	Attempts        int
}

// TableName is the table of mails.
func (waitingMail) TableName() string { return "mails" }

// AreSent reports whether the installation sends mail.
func (s *Service) AreSent() bool { return s.cfg.Mail != nil }

// Letter is the text of a mail, which is encrypted while the mail waits. It holds a link, which is a secret.
type Letter struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// maxQuoted is how many characters of a name a letter shows.
const maxQuoted = 60

// Quoted returns a name that somebody has chosen, such as that of an organization, for a letter of the service. It must
// not speak for the service: it is one line in quotation marks, and nothing in it looks like an address, of which mail
// programs make links.
func Quoted(name string) string {
	name = strings.ReplaceAll(strings.Join(strings.Fields(name), " "), "://", ": //")
	shown := []rune{'“'}
	for _, c := range name {
		if len(shown) > maxQuoted {
			shown = append(shown, '…')
			break
		}
		if shown[len(shown)-1] == '.' && unicode.IsLetter(c) {
			shown = append(shown, ' ')
		}
		shown = append(shown, c)
	}
	return string(append(shown, '”'))
}

// Stage adds a mail to the transaction that makes it necessary. It does nothing if the installation sends no mail.
func (s *Service) Stage(ctx context.Context, tx db.GormTx, kind, recipient string, content *Letter) error {
	if !s.AreSent() {
		return nil
	}
	id := core.NewID()
	waiting := waitingMail{ID: id, Kind: kind, Recipient: recipient}
	if content != nil {
		text, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("write a mail: %w", err)
		}
		if waiting.Sealed, err = s.cfg.Keys.Seal(text, keyring.Binding{OrgID: id, Column: sealColumn}); err != nil {
			return fmt.Errorf("encrypt a mail: %w", err)
		}
	}
	if err := gorm.G[waitingMail](tx.Gorm(ctx)).Create(ctx, &waiting); err != nil {
		return fmt.Errorf("add a mail: %w", err)
	}
	batch := tx.NewBatch()
	jobs.Stage(batch, jobs.Job{Kind: jobMail, SubjectID: id})
	return batch.Send(ctx)
}

// Wake wakes the enqueuer for mails that have just been committed.
func (s *Service) Wake() {
	if s.cfg.Staged != nil {
		s.cfg.Staged.Wake()
	}
}

// Forgotten writes the mail with the id to the user with the address, who has forgotten the password; nil if there is
// nobody to write to. It is called again for a mail that could not be sent.
type Forgotten func(ctx context.Context, email string, id uuid.UUID) (*Letter, error)

// Tasks registers the handler that sends mails.
func (s *Service) Tasks(register func(jobs.Kind, jobs.Handler), forgotten Forgotten) {
	register(jobMail, func(ctx context.Context, job jobs.Job) error { return s.sendMail(ctx, job, forgotten) })
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
		return s.noteMailError(ctx, waiting.ID, err)
	}
	if message != nil {
		err = s.cfg.Mail.Send(ctx, *message)
	}
	if err != nil && !mail.IsRefused(err) {
		return s.noteMailError(ctx, waiting.ID, err)
	}
	return errors.Join(err, s.deleteMail(context.WithoutCancel(ctx), waiting.ID))
}

// writeMail returns nil if there is no account to write to.
func (s *Service) writeMail(ctx context.Context, waiting waitingMail, forgotten Forgotten) (*mail.Message, error) {
	var content Letter
	if waiting.Kind == KindForgotten {
		written, err := forgotten(ctx, waiting.Recipient, waiting.ID)
		if err != nil || written == nil {
			return nil, err
		}
		content = *written
	} else {
		text, err := s.cfg.Keys.Open(waiting.Sealed, keyring.Binding{OrgID: waiting.ID, Column: sealColumn})
		if err != nil {
			return nil, fmt.Errorf("decrypt a mail: %w", err)
		}
		if err := json.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("read a mail: %w", err)
		}
	}
	return &mail.Message{To: waiting.Recipient, Subject: content.Subject, Text: content.Text}, nil
}

// SweepMails stages mails again that were not sent, and returns how many.
func (s *Service) SweepMails(ctx context.Context) (int, error) {
	if !s.AreSent() {
		return 0, nil
	}
	n, err := db.InGormTx(ctx, s.db, func(tx db.GormTx) (int, error) {
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

// lockDueMails returns the jobs of due mails, and postpones these mails in case the jobs are lost, too.
func lockDueMails(ctx context.Context, tx db.GormTx) ([]jobs.Job, error) {
	due, err := gorm.G[waitingMail](tx.Gorm(ctx), clause.Locking{
		Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked,
	}).Select("id, attempts").Where("due_at <= now()").Order("due_at").Limit(sweptMails).Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for letters that are due: %w", err)
	}
	ids, staged := make([]uuid.UUID, len(due)), make([]jobs.Job, len(due))
	for i, waiting := range due {
		ids[i], staged[i] = waiting.ID, jobs.Job{Kind: jobMail, SubjectID: waiting.ID, Epoch: waiting.Attempts}
	}
	_, err = gorm.G[waitingMail](tx.Gorm(ctx)).Where("id IN ?", ids).
		Update(ctx, "due_at", gorm.Expr("now() + interval '1 minute' + "+mailPause))
	if err != nil {
		return nil, fmt.Errorf("postpone letters: %w", err)
	}
	return staged, nil
}

// beginMail counts an attempt to send a mail, and sets when the next one is due. It returns nil if the mail was sent,
// or another worker has begun this attempt.
func (s *Service) beginMail(ctx context.Context, id uuid.UUID, epoch int) (*waitingMail, error) {
	waiting := waitingMail{ID: id}
	begun := s.db.Gorm.WithContext(ctx).Model(&waiting).Where("attempts = ?", epoch).
		Clauses(clause.Returning{Columns: []clause.Column{{Name: "kind"}, {Name: "recipient"}, {Name: "sealed"}}}).
		Updates(map[string]any{
			"attempts": gorm.Expr("attempts + 1"), "due_at": gorm.Expr("now() + " + mailPause),
		})
	if begun.Error != nil {
		return nil, fmt.Errorf("begin to send letter %s: %w", id, begun.Error)
	}
	if begun.RowsAffected == 0 {
		return nil, nil //nolint:nilnil // nothing to do
	}
	return &waiting, nil
}

// noteMailError stores why a mail was not sent, for the operator. It returns the cause, which is logged.
func (s *Service) noteMailError(ctx context.Context, id uuid.UUID, cause error) error {
	_, err := gorm.G[waitingMail](s.db.Gorm).Where("id = ?", id).
		Update(context.WithoutCancel(ctx), "last_error", core.StorableUpTo(cause.Error(), maxMailError))
	if err != nil {
		return errors.Join(cause, fmt.Errorf("note why letter %s was not sent: %w", id, err))
	}
	return cause
}

func (s *Service) deleteMail(ctx context.Context, id uuid.UUID) error {
	if _, err := gorm.G[waitingMail](s.db.Gorm).Where("id = ?", id).Delete(ctx); err != nil {
		return fmt.Errorf("delete letter %s: %w", id, err)
	}
	return nil
}

// PurgeMails deletes the mails that could not be sent for three days.
func (s *Service) PurgeMails(ctx context.Context) (int64, error) {
	deleted, err := gorm.G[waitingMail](s.db.Gorm).Where("created_at <= now() - interval '3 days'").Delete(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete letters that cannot be sent: %w", err)
	}
	return int64(deleted), nil
}

// DeleteTo deletes the mails to an address, which waits for none any more.
func DeleteTo(ctx context.Context, tx db.GormTx, recipient string) error {
	if _, err := gorm.G[waitingMail](tx.Gorm(ctx)).Where("recipient = ?", recipient).Delete(ctx); err != nil {
		return fmt.Errorf("delete letters: %w", err)
	}
	return nil
}
