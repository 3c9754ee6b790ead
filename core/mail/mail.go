// Package mail sends mail through an SMTP server.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// timeout bounds each step of a conversation with the server.
const timeout = 20 * time.Second

// Config says through which server mail is sent.
type Config struct {
	// URL is the server's. smtps://user:password@host encrypts from the first byte, on port 465.
	// smtp://user:password@host encrypts a connection that begins unencrypted, on port 587: a server that does not
	// offer that gets no mail. With ?encryption=none nothing is encrypted, for a server on the same machine that
	// demands no password.
	URL string
	// From is the sender, like "Name <name@host>".
	From string
	// Roots are the authorities that the server's certificate may come from; nil for those of the system.
	Roots *x509.CertPool
}

// Message is a mail in plain text.
type Message struct {
	To, Subject, Text string
}

// Sender sends mail. It is safe for concurrent use.
type Sender struct {
	cfg    Config
	server *url.URL
	port   int
}

// New makes a Sender. It does not connect.
func New(cfg Config) (*Sender, error) {
	server, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("read the URL of the mail server: %w", err)
	}
	s := &Sender{cfg: cfg, server: server}
	switch {
	case server.Scheme == "smtps" && server.RawQuery == "":
		s.port = gomail.DefaultPortSSL
	case server.Scheme == "smtp" && (server.RawQuery == "" || s.isPlain() && server.User == nil):
		s.port = gomail.DefaultPortTLS
	default:
		return nil, errURL
	}
	if port := server.Port(); port != "" {
		if s.port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("read the port of the mail server: %w", err)
		}
	}
	if server.Hostname() == "" || strings.Trim(server.Path, "/") != "" {
		return nil, errURL
	}
	if _, err := mail.ParseAddress(cfg.From); err != nil {
		return nil, fmt.Errorf("read the sender: %w", err)
	}
	return s, nil
}

var errURL = errors.New("not like smtp://user:password@host:587, smtps://user:password@host:465 or " +
	"smtp://localhost:25?encryption=none, which sends no password")

// isPlain reports whether nothing is encrypted.
func (s *Sender) isPlain() bool { return s.server.RawQuery == "encryption=none" }

// Send hands a mail to the server. IsRefused reports whether its error is permanent.
func (s *Sender) Send(ctx context.Context, message Message) error {
	letter := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := letter.From(s.cfg.From); err != nil {
		return fmt.Errorf("set the sender: %w", err)
	}
	if err := letter.To(message.To); err != nil {
		return errors.Join(errRefused, fmt.Errorf("set the recipient: %w", err))
	}
	letter.Subject(oneLine(message.Subject))
	letter.SetDate()
	letter.SetMessageID()
	// The header asks for no automatic answers, such as out-of-office messages (RFC 3834).
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	letter.SetBodyString(gomail.TypeTextPlain, message.Text)
	client, err := s.client()
	if err != nil {
		return err
	}
	if err := client.DialAndSendWithContext(ctx, letter); err != nil {
		return fmt.Errorf("send a mail: %w", err)
	}
	return nil
}

// Check connects to the server as Send does, and sends nothing.
func (s *Sender) Check(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	if err := client.DialWithContext(ctx); err != nil {
		return fmt.Errorf("connect to the mail server: %w", err)
	}
	if err := client.Close(); err != nil {
		return fmt.Errorf("leave the mail server: %w", err)
	}
	return nil
}

func (s *Sender) client() (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithTimeout(timeout),
		gomail.WithTLSConfig(&tls.Config{
			ServerName: s.server.Hostname(), RootCAs: s.cfg.Roots, MinVersion: tls.VersionTLS12,
		}),
	}
	switch {
	case s.server.Scheme == "smtps":
		options = append(options, gomail.WithSSL())
	case s.isPlain():
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.server.User != nil {
		password, _ := s.server.User.Password()
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(s.server.User.Username()), gomail.WithPassword(password))
	}
	client, err := gomail.NewClient(s.server.Hostname(), append(options, gomail.WithPort(s.port))...)
	if err != nil {
		return nil, fmt.Errorf("set up the mail client: %w", err)
	}
	return client, nil
}

var errRefused = errors.New("the mail cannot be sent to the address")

// IsRefused reports whether the server has refused the mail permanently, so that sending it again is of no use. Any
// other error may be temporary, like a server that is down or a password that has changed.
func IsRefused(err error) bool {
	if errors.Is(err, errRefused) {
		return true
	}
	refused, ok := errors.AsType[*gomail.SendError](err)
	return ok && !refused.IsTemp() && refused.ErrorCode() >= 500 // permanent in SMTP (RFC 5321, 4.2.1)
}

// oneLine removes line breaks, so that a name that a user has chosen cannot add header fields.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
