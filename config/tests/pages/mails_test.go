package pages

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// mailServer is an SMTP server on this machine. Its answers to letters are taken from refusals; without one a letter is
// accepted.
type mailServer struct {
	letters chan letter
	// notices are the letters that tell of a change of an account.
	notices  chan letter
	refusals chan error
}

type letter struct{ to, subject, text string }

// NewSession answers a connection.
//
//nolint:ireturn // go-smtp demands it
func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &mailSession{mailServer: m}, nil
}

type mailSession struct {
	*mailServer

	to string
}

func (m *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.to = to
	return nil
}

func (m *mailSession) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(message.Body))
	if err != nil {
		return err
	}
	select {
	case refusal := <-m.refusals:
		return refusal
	default:
		got := letter{
			to: m.to, subject: message.Header.Get("Subject"), text: strings.ReplaceAll(string(text), "\r\n", "\n"),
		}
		if strings.HasSuffix(got.text, "/app/account/\n") {
			m.notices <- got
		} else {
			m.letters <- got
		}
		return nil
	}
}

func (m *mailSession) Reset() {}

func (m *mailSession) Logout() error { return nil }

// setupMail serves with a mail server.
func setupMail(tb testing.TB) (*stage, *mailServer) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	m := &mailServer{letters: make(chan letter, 10), notices: make(chan letter, 100), refusals: make(chan error, 10)}
	server := smtp.NewServer(m)
	server.Domain = "localhost"
	go func() { _ = server.Serve(listener) }() // It ends with the test.
	tb.Cleanup(func() { _ = server.Close() })
	s := setup(tb, behindProxy, func(settings *config.Settings) {
		settings.BaseURL = "http://validations.example"
		settings.SMTPURL = config.Secret("smtp://" + listener.Addr().String() + "?encryption=none")
		settings.MailFrom = "Validations <from@validations.example>"
	})
	s.Exec(tb, `DELETE FROM staged_jobs`)
	return s, m
}

// wantLetter sends what waits and returns the path of the link in the one letter.
func (s *stage) wantLetter(tb testing.TB, m *mailServer, to, kind string) string {
	tb.Helper()
	s.Work(tb)
	select {
	case got := <-m.letters:
		link := regexp.MustCompile(`http://validations\.example(/app/` + kind + `/sv_[A-Za-z0-9_-]{43}/)`).
			FindStringSubmatch(got.text)
		if got.to != to || link == nil {
			tb.Fatalf("letter to %s, want %s with a link: %s", got.to, to, got.text)
		}
		return link[1]
	default:
		tb.Fatal("no letter")
		return ""
	}
}

func wantNoLetter(tb testing.TB, m *mailServer) {
	tb.Helper()
	select {
	case got := <-m.letters:
		tb.Errorf("a letter to %s: %s", got.to, got.text)
	default:
	}
}

func forgetting(email string) call {
	return fixture.Post("/app/password/", "", url.Values{"email": {email}})
}

func TestForgottenPassword(t *testing.T) {
	t.Parallel()

	t.Run("IsAnsweredAlikeForAllAddresses", func(t *testing.T) {
		t.Parallel()
		s, m := setupMail(t)
		s.WithPassword(t)
		nobody := s.see(t, forgetting("nobody@b.example"))
		fixture.Shows(t, nobody, "If there is an account")
		if known := s.see(t, forgetting(fixture.VisitorEmail)); known != nobody {
			t.Errorf("for a known address:\n%s\nfor an unknown one:\n%s", known, nobody)
		}
		// The request has done the same for both.
		if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM mails WHERE sealed IS NULL`); n != 2 {
			t.Errorf("letters that wait = %d, want 2", n)
		}
		link := s.wantLetter(t, m, fixture.VisitorEmail, "password")
		wantNoLetter(t, m)
		if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM mails`); n != 0 {
			t.Errorf("letters that wait = %d, want 0", n)
		}
		s.Exec(t, `UPDATE users SET address_confirmed = false WHERE email = $1`, fixture.VisitorEmail)
		s.Visit(t, http.StatusSeeOther, setting(link, newPassword))
		s.Visit(t, http.StatusSeeOther, fixture.SignIn(fixture.VisitorEmail, newPassword))
		if !coretest.One[bool](t, s.DB, `SELECT address_confirmed FROM users WHERE email = $1`, fixture.VisitorEmail) {
			t.Error("who has got the mail has not confirmed the address")
		}
	})

	t.Run("LeavesTheLinkOfAnAdministrator", func(t *testing.T) {
		t.Parallel()
		s, m := setupMail(t)
		id := s.WithPassword(t)
		given := s.passwordLink(t, s.Visitor(t, api.RoleOwner), id)
		// The person hears of it.
		if mailed := s.wantLetter(t, m, fixture.VisitorEmail, "password"); mailed != given {
			t.Errorf("mailed %s, want the link that was given", mailed)
		}
		s.see(t, forgetting(fixture.VisitorEmail))
		s.see(t, fixture.Page(s.wantLetter(t, m, fixture.VisitorEmail, "password"), ""))
		s.see(t, fixture.Page(given, ""))
		s.Exec(t, `UPDATE users SET address_confirmed = false WHERE id = $1`, id)
		s.Visit(t, http.StatusSeeOther, setting(given, newPassword))
		if coretest.One[bool](t, s.DB, `SELECT address_confirmed FROM users WHERE id = $1`, id) {
			t.Error("an administrator's link has confirmed the address")
		}
	})

	t.Run("IsNotMailedToDisabledUsersAndThoseOfTheProvider", func(t *testing.T) {
		t.Parallel()
		s, m := setupMail(t)
		id := s.WithPassword(t)
		for _, change := range []string{
			`UPDATE users SET disabled_at = now() WHERE id = $1`,
			`WITH without AS (UPDATE users SET disabled_at = NULL, password_hash = '' WHERE id = $1)
				INSERT INTO identities (issuer, subject, user_id) VALUES ('https://b.example', 'x', $1)`,
		} {
			s.Exec(t, change, id)
			s.see(t, forgetting(fixture.VisitorEmail))
			s.Work(t)
			wantNoLetter(t, m)
		}
	})

	t.Run("NeitherFloodsNorBlocks", func(t *testing.T) {
		t.Parallel()
		s, m := setupMail(t)
		fixture.Hides(t, s.Visit(t, http.StatusOK, fixture.Page("/app/password/", "")), "sends no mail")
		s.WithPassword(t)
		var links []string
		for range 5 {
			for i := range 25 {
				s.Visit(t, http.StatusOK, forgetting(fixture.VisitorEmail).From(fmt.Sprintf("203.0.%d.1", i)))
			}
			links = append(links, s.wantLetter(t, m, fixture.VisitorEmail, "password"))
			wantNoLetter(t, m)
			s.Exec(t, `UPDATE password_links SET created_at = created_at - interval '5 minutes'`)
		}
		s.Visit(t, http.StatusOK, forgetting(fixture.VisitorEmail))
		s.Work(t)
		wantNoLetter(t, m)
		for _, link := range links {
			s.Visit(t, http.StatusOK, fixture.Page(link, ""))
		}
		// While no other is mailed, the newest works.
		s.Exec(t, `UPDATE password_links SET created_at = created_at - interval '23 hours',
			expires_at = expires_at - interval '23 hours'`)
		s.Visit(t, http.StatusSeeOther, setting(links[4], newPassword))
	})

	t.Run("IsMailedAgainAfterAFailure", func(t *testing.T) {
		t.Parallel()
		s, m := setupMail(t)
		s.WithPassword(t)
		s.Work(t) // It tells of the password.
		m.refusals <- &smtp.SMTPError{Code: 451, Message: "try again"}
		s.Visit(t, http.StatusOK, forgetting(fixture.VisitorEmail))
		if err := s.TryWork(t.Context()); err == nil || !strings.Contains(err.Error(), "try again") {
			t.Errorf("work = %v, want the server's answer", err)
		}
		s.Exec(t, `UPDATE mails SET due_at = now()`)
		if n, err := s.Users.Mails.SweepMails(t.Context()); n != 1 || err != nil {
			t.Fatalf("swept = %d, %v, want 1", n, err)
		}
		s.Visit(t, http.StatusOK, fixture.Page(s.wantLetter(t, m, fixture.VisitorEmail, "password"), ""))
	})
}

func TestInvitationsAreMailed(t *testing.T) {
	t.Parallel()
	s, m := setupMail(t)
	id := s.Invited(t, "kim@b.example")
	link := s.wantLetter(t, m, "kim@b.example", "invitations")
	s.shows(t, fixture.Page(link, ""), "Join Harbour Energy")
	renewed := s.LinkOf(t, id)
	if mailed := s.wantLetter(t, m, "kim@b.example", "invitations"); mailed != renewed {
		t.Errorf("mailed %s, want the link that was shown", mailed)
	}
	// One organization cannot flood people.
	for range 40 {
		got := s.AnswerTo(t, fixture.Linking(id, s.Harbour.Tokens.Owner))
		if got.Status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("40 mails to one address were not limited")
}

// Whoever owns an organization speaks for it alone in the service's letters, and links to nothing.
func TestNamesAddNothingToLetters(t *testing.T) {
	t.Parallel()
	s, m := setupMail(t)
	s.Exec(t, `UPDATE organizations SET name = E'Harbour\n\nUnlock at http://www.evil.example/now, or
		else your account is gone' WHERE id = $1`, s.Harbour.ID)
	s.Invited(t, "kim@b.example")
	s.Work(t)
	const want = "invited to “Harbour Unlock at http: //www. evil. example/now, or else yo…” as"
	if got := <-m.letters; !strings.Contains(got.text, want) {
		t.Errorf("letter = %s, want %s in it", got.text, want)
	}
}

// changing has what somebody with a session, or the operator, may do to the account of a user, with the begin of the
// letter that tells of it. The changes are made in this order.
func (s *stage) changing(tb testing.TB, id uuid.UUID, session *string) []struct {
	want string
	do   func()
} {
	tb.Helper()
	var app authenticator
	post := func(path string, fields url.Values) call { return fixture.Post(path, *session, fields) }
	form := func(current, fresh string) url.Values {
		return url.Values{"current": {current}, "new": {fresh}, "again": {fresh}}
	}
	return []struct {
		want string
		do   func()
	}{
		{"The password was changed: all sessions ended, from 127.0.0.1.", func() {
			got := s.AnswerTo(tb, post("/app/account/password/", form(fixture.VisitorPassword, newPassword)))
			*session = sessionOf(tb, got).Value
		}},
		{"An authenticator app was set up: from 127.0.0.1.", func() { app = s.enrolled(tb, *session) }},
		{"New recovery codes were made, and the former ones no longer work: from", func() {
			html := s.Visit(tb, http.StatusCreated, post("/app/account/second-factor/codes/", nil))
			app.recovery = app.recovery[:0]
			for _, code := range recoveryCode.FindAllStringSubmatch(html, -1) {
				app.recovery = append(app.recovery, code[1])
			}
		}},
		{"A recovery code was used: from 127.0.0.1.", func() {
			got := s.AnswerTo(tb, fixture.SignIn(fixture.VisitorEmail, newPassword))
			step := (&http.Response{Header: got.Header}).Cookies()[0].Value
			s.Visit(tb, http.StatusSeeOther, entering(step, app.recovery[0]))
		}},
		{"The second factor was removed: from 127.0.0.1.", func() {
			s.Visit(tb, http.StatusSeeOther, post("/app/account/second-factor/remove/", nil))
		}},
		{"An API token was made: “Look at www. evil. example” for “Harbour Energy”.", func() {
			s.Visit(tb, http.StatusCreated, post(fixture.HarbourPages+"tokens/", url.Values{
				"id": {uuid.NewString()}, "label": {"Look at www.evil.example"}, "role": {"viewer"}, "days": {"1"},
			}))
		}},
		{"An API token was made: “test” by the operator of the service.", func() { s.TokenOf(tb, id, api.RoleViewer) }},
		{"The operator of the service has set a new password: all sessions ended.", func() {
			if err := s.Users.SignIn.SetPassword(tb.Context(), id, fixture.VisitorPassword); err != nil {
				tb.Fatal(err)
			}
		}},
		{"A new password was set: with a link that was given, all sessions ended, from 127.0.0.1.", func() {
			link, _, err := s.Users.SignIn.LinkPassword(tb.Context(), fixture.VisitorEmail, time.Hour)
			if err != nil {
				tb.Fatal(err)
			}
			s.Visit(tb, http.StatusSeeOther, setting(link, newPassword))
		}},
	}
}

// Whoever has got into an account cannot change it without the knowledge of its user.
func TestChangesOfAccountsAreMailed(t *testing.T) {
	t.Parallel()
	s, m := setupMail(t)
	id := s.WithPassword(t)
	s.stopClock(t, 0)
	s.Work(t)
	session := s.Session(t, id)
	for _, change := range s.changing(t, id, &session) {
		for len(m.notices) > 0 {
			<-m.notices
		}
		change.do()
		s.Work(t)
		var last letter
		for len(m.notices) > 0 {
			last = <-m.notices
		}
		if last.to != fixture.VisitorEmail || !strings.HasPrefix(last.text, change.want) ||
			!strings.HasPrefix(change.want, last.subject) ||
			!strings.HasSuffix(last.text, "\nhttp://validations.example/app/account/\n") ||
			strings.Count(last.text, "://") != 2 {
			t.Errorf("letter = %+v, want %s and the page of the account as its only link", last, change.want)
		}
	}
	// A program that makes one token after the other tells of ten a day.
	for range 12 {
		s.TokenOf(t, id, api.RoleViewer)
	}
	s.Work(t)
	if n := len(m.notices); n != 8 {
		t.Errorf("letters about 12 further tokens = %d, want 8", n)
	}
}

// The address of an account that nobody has confirmed may belong to somebody who knows nothing of it.
func TestChangesAreNotMailedToUnconfirmedAddresses(t *testing.T) {
	t.Parallel()
	s, _ := setupMail(t)
	id := s.WithPassword(t)
	s.Exec(t, `DELETE FROM mails`)
	s.Exec(t, `UPDATE users SET address_confirmed = false`)
	s.TokenOf(t, id, api.RoleViewer)
	without := setup(t) // It sends no mail at all.
	without.TokenOf(t, without.WithPassword(t), api.RoleViewer)
	for _, database := range []*stage{s, without} {
		if n := coretest.One[int64](t, database.DB, `SELECT count(*) FROM mails`); n != 0 {
			t.Errorf("letters that wait = %d, want none", n)
		}
	}
}

// A mail survives a busy server and a lost job, and is encrypted while it waits.
func TestMailsAreSentAgain(t *testing.T) {
	t.Parallel()
	s, m := setupMail(t)
	m.refusals <- &smtp.SMTPError{Code: 451, Message: "try again"}
	link := s.LinkOf(t, s.Invited(t, "kim@b.example"))
	if coretest.One[bool](t, s.DB, `SELECT bool_or(position($1::bytea IN sealed) > 0) FROM mails`,
		[]byte(strings.Split(link, "/")[3])) {
		t.Error("a link lies in the database in clear")
	}
	s.Exec(t, `DELETE FROM mails WHERE id <> (SELECT max(id::text)::uuid FROM mails)`)
	// The jobs are lost.
	s.Exec(t, `DELETE FROM staged_jobs WHERE kind = 'mail.send'`)
	sweep := func(want int) {
		t.Helper()
		if n, err := s.Users.Mails.SweepMails(t.Context()); err != nil || n != want {
			t.Fatalf("swept = %d, %v, want %d", n, err, want)
		}
	}
	sweep(0) // It is not due before its job has had some time.
	s.Exec(t, `UPDATE mails SET due_at = now()`)
	sweep(1)
	sweep(0)
	if err := s.TryWork(t.Context()); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("work = %v, want the server's answer", err)
	}
	wait := coretest.One[float64](t, s.DB, `SELECT extract(epoch FROM due_at - now())::float8 FROM mails
		WHERE last_error LIKE '%try again%' AND attempts = 1`)
	if wait <= 10 || wait > 60 {
		t.Errorf("the letter is due in %.0f s, want some seconds", wait)
	}
	s.Exec(t, `UPDATE mails SET due_at = now()`)
	sweep(1)
	if mailed := s.wantLetter(t, m, "kim@b.example", "invitations"); mailed != link {
		t.Errorf("mailed %s, want %s", mailed, link)
	}

	// What the server refuses for good is dropped.
	m.refusals <- &smtp.SMTPError{Code: 550, Message: "no such user"}
	s.LinkOf(t, s.Invited(t, "gone@b.example"))
	s.Exec(t, `DELETE FROM mails WHERE id <> (SELECT max(id::text)::uuid FROM mails)`)
	s.Exec(t, `DELETE FROM staged_jobs WHERE subject_id <> (SELECT id FROM mails)`)
	if err := s.TryWork(t.Context()); err == nil {
		t.Error("the refusal is not reported")
	}
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM mails`); n != 0 {
		t.Errorf("letters that wait = %d, want 0", n)
	}
}
