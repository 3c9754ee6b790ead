// Package mail sends mail through an SMTP server.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// How the connection to the server is encrypted.
const (
	// StartTLS encrypts a connection that begins unencrypted. A server that does not offer it gets no mail.
	StartTLS = "starttls"
	// TLS encrypts from the first byte.
	TLS = "tls"
	// None sends without encryption, for a server on the same machine. Passwords are not sent this way.
	None = "none"
)

// timeout bounds each step of a conversation with the server.
const timeout = 20 * time.Second

// Config says through which server mail is sent.
type Config struct {
	// Address is the host and port of the server.
	Address string
	// Encryption is StartTLS, TLS or None.
	Encryption string
	// User and Password are those of the server; empty for one that demands none.
	User, Password string
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
	cfg  Config
	host string
	port int
}

// New makes a Sender. It does not connect.
func New(cfg Config) (*Sender, error) {
	host, portText, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("read the address of the mail server: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("read the port of the mail server: %w", err)
	}
	if _, err := mail.ParseAddress(cfg.From); err != nil {
		return nil, fmt.Errorf("read the sender: %w", err)
	}
	return &Sender{cfg: cfg, host: host, port: port}, nil
}

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
		gomail.WithTLSConfig(&tls.Config{ServerName: s.host, RootCAs: s.cfg.Roots, MinVersion: tls.VersionTLS12}),
	}
	switch s.cfg.Encryption {
	case TLS:
		options = append(options, gomail.WithSSL())
	case None:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.cfg.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(s.cfg.User), gomail.WithPassword(s.cfg.Password))
	}
	client, err := gomail.NewClient(s.host, append(options, gomail.WithPort(s.port))...)
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
