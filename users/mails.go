package users

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	mailInvitation = "invitation"
	mailPassword   = "password"
	// mailForgotten is written when it is sent, so that requesting it takes equally long for addresses with and without
	// an account.
	mailForgotten = "forgotten"
)

// mailSeal is the place of encrypted mails in the database.
const mailSeal = "mails.sealed"

// maxMailError is how many characters of the error of a mail are kept.
const maxMailError = 300

// mailsAreSent reports whether the installation sends mail.
func (s *Service) mailsAreSent() bool { return s.cfg.Mail != nil }

// letter is the text of a mail, which is encrypted while the mail waits. It holds a link, which is a secret.
type letter struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// queueMail adds a mail to the transaction that makes it necessary. It does nothing if the installation sends no mail.
func (s *Service) queueMail(ctx context.Context, tx db.Tx, kind, recipient string, content *letter) error {
	if !s.mailsAreSent() {
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
		if sealed, err = s.cfg.Keys.Seal(text, keyring.Place{OrgID: id, Column: mailSeal}); err != nil {
			return fmt.Errorf("encrypt a mail: %w", err)
		}
	}
	batch := tx.NewBatch()
	queueInsertMail(batch, id, kind, recipient, sealed)
	jobs.Stage(batch, jobs.Job{Kind: jobMail, SubjectID: id})
	return batch.Send(ctx)
}

// mailPasswordLink sends the user a link that an administrator or the operator has made.
func (s *Service) mailPasswordLink(ctx context.Context, tx db.Tx, link passwordLink) error {
	return s.queueMail(ctx, tx, mailPassword, link.Email, s.passwordLetter(link))
}

func (s *Service) passwordLetter(link passwordLink) *letter {
	return &letter{
		Subject: "Set a new password",
		Text: fmt.Sprintf(`A new password can be set for the account of %s at %s. Open this link:

%s

It works once, until %s. If you do not want a new password, do nothing: the one that you have keeps working.
`, link.Email, s.cfg.Address, s.cfg.Address+link.Path(), link.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC")),
	}
}

// mailInvitationLink sends the link of an invitation to the invited person.
func (s *Service) mailInvitationLink(ctx context.Context, tx db.Tx, issued issuedLink) error {
	// The name is chosen by whoever owns the organization, and must not add paragraphs of its own to our letter.
	name := strings.Join(strings.Fields(issued.OrgName), " ")
	return s.queueMail(ctx, tx, mailInvitation, issued.Email, &letter{
		Subject: "Invitation to " + name,
		Text: fmt.Sprintf(`You are invited to %s as %s. Open this link to accept or to decline:

%s

It works until %s, for %s alone. If you do not know what this is about, do nothing.
`, name, issued.Role, s.cfg.Address+issued.Path(),
			issued.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC"), issued.Email),
	})
}

// askForPassword sends a link to the address if there is an account with it. It does the same work for all addresses.
func (s *Service) askForPassword(ctx context.Context, email string) error {
	err := db.Do(ctx, s.db, func(tx db.Tx) error {
		return s.queueMail(ctx, tx, mailForgotten, normalizeEmail(email), nil)
	})
	s.wakeMails()
	return err
}

// wakeMails wakes the enqueuer for mails that have just been committed.
func (s *Service) wakeMails() {
	if s.cfg.Staged != nil {
		s.cfg.Staged.Wake()
	}
}

// Tasks registers the handlers of the app's jobs.
func (s *Service) Tasks(register func(jobs.Kind, jobs.Handler)) {
	register(jobMail, s.sendMail)
}

// waitingMail is a mail that is being sent.
type waitingMail struct {
	id              uuid.UUID
	kind, recipient string
	sealed          []byte
}

// sendMail sends one mail, outside of any transaction. A mail is sent twice if the process dies between the server's
// answer and the deletion of the row. A mail that fails is staged again by SweepMails, with a growing back-off.
func (s *Service) sendMail(ctx context.Context, job jobs.Job) error {
	if !s.mailsAreSent() {
		return errors.New("a mail waits, and no mail server is configured for this process")
	}
	waiting, err := s.beginMail(ctx, job.SubjectID, job.Epoch)
	if err != nil || waiting == nil {
		return err
	}
	message, err := s.writeMail(ctx, *waiting)
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
func (s *Service) writeMail(ctx context.Context, waiting waitingMail) (*mail.Message, error) {
	var content letter
	if waiting.kind == mailForgotten {
		link, err := s.linkForgotten(ctx, waiting.recipient)
		if err != nil || link == nil {
			return nil, err
		}
		content = *s.passwordLetter(*link)
	} else {
		text, err := s.cfg.Keys.Open(waiting.sealed, keyring.Place{OrgID: waiting.id, Column: mailSeal})
		if err != nil {
			return nil, fmt.Errorf("decrypt a mail: %w", err)
		}
		if err := json.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("read a mail: %w", err)
		}
	}
	return &mail.Message{To: waiting.recipient, Subject: content.Subject, Text: content.Text}, nil
}

// linkForgotten makes a link for the user with the address; nil if there is no such user, or one who may not have a
// link. Users who only sign in at the provider get none: a password would outlive the account there.
func (s *Service) linkForgotten(ctx context.Context, email string) (*passwordLink, error) {
	user, err := s.User(ctx, email)
	if core.HasCode(err, core.CodeNotFound) {
		return nil, nil //nolint:nilnil // nobody to write to
	}
	if err != nil {
		return nil, err
	}
	return db.InTx(ctx, s.db, func(tx db.Tx) (*passwordLink, error) {
		may, err := mayForget(ctx, tx, user.ID)
		if err != nil || !may {
			return nil, err
		}
		secret, digest, _ := newSecret()
		link, err := upsertPasswordLink(ctx, tx, newPasswordLink{
			userID: user.ID, origin: originMailed, digest: digest, life: mailedLinkLife,
		})
		if err != nil {
			return nil, err
		}
		link.secret = secret
		return &link, auditUser(ctx, tx, user.ID, user.ID, "password.ask", "a link was mailed")
	})
}

// SweepMails stages mails again that were not sent, and returns how many.
func (s *Service) SweepMails(ctx context.Context) (int, error) {
	if !s.mailsAreSent() {
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
		s.wakeMails()
	}
	return n, err
}

// mailPause is the back-off after the given number of attempts, as SQL: from half a minute to an hour.
const mailPause = `make_interval(secs => least(3600, 15 * power(2, least(attempts, 12))))`
