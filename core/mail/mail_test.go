package mail_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/simplevalidations/simplevalidations/core/mail"
)

// How a server encrypts, as URLs of servers begin that encrypt so.
const (
	startTLS = "smtp"
	byTLS    = "smtps"
	plain    = "plain"

	user = "://user:password@"
)

// server is an SMTP server that keeps what it gets.
type server struct {
	address string
	roots   *x509.CertPool
	letters chan string
	// refusal is the answer to recipients.
	refusal error
}

// NewSession answers a connection.
//
//nolint:ireturn // go-smtp demands it
func (s *server) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }

type session struct {
	*server

	signedIn bool
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) { //nolint:ireturn // go-smtp demands it
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "user" || password != "password" {
			return smtp.ErrAuthFailed
		}
		s.signedIn = true
		return nil
	}), nil
}

func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(string, *smtp.RcptOptions) error { return s.refusal }

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if s.signedIn {
		text = append([]byte("SIGNED-IN\r\n"), text...)
	}
	s.letters <- string(text)
	return err
}

func (s *session) Reset() {}

func (s *session) Logout() error { return nil }

// serve starts a server with a certificate of its own.
func serve(tb testing.TB, encryption string, refusal error) *server {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{roots: x509.NewCertPool(), letters: make(chan string, 10), refusal: refusal}
	s.roots.AddCert(certificate)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.address = listener.Addr().String()
	smtpServer := smtp.NewServer(s)
	smtpServer.Domain, smtpServer.AllowInsecureAuth = "localhost", true
	secure := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
	}
	switch encryption {
	case byTLS:
		listener = tls.NewListener(listener, secure)
	case startTLS:
		smtpServer.TLSConfig = secure
	}
	go func() { _ = smtpServer.Serve(listener) }() // It ends with the test.
	tb.Cleanup(func() { _ = smtpServer.Close() })
	return s
}

// sender makes a Sender whose URL begins with the scheme and the user, unless it is plain.
func (s *server) sender(tb testing.TB, beginning string) *mail.Sender {
	tb.Helper()
	url := beginning + s.address
	if beginning == plain {
		url = "smtp://" + s.address + "?encryption=none"
	}
	sender, err := mail.New(mail.Config{URL: url, From: "Validations <from@b.example>", Roots: s.roots})
	if err != nil {
		tb.Fatal(err)
	}
	return sender
}

func TestSend(t *testing.T) {
	t.Parallel()
	for encryption, beginning := range map[string]string{
		startTLS: "smtp" + user, byTLS: "smtps" + user, plain: plain,
	} {
		t.Run(encryption, func(t *testing.T) {
			t.Parallel()
			s := serve(t, encryption, nil)
			err := s.sender(t, beginning).Send(t.Context(), mail.Message{
				To: "to@b.example", Subject: "Name\r\nBcc: evil@b.example",
				Text: "Zeile mit ü\nhttps://b.example/x?y=z\n",
			})
			if err != nil {
				t.Fatal(err)
			}
			got := <-s.letters
			for _, part := range []string{
				"From: \"Validations\" <from@b.example>", "To: <to@b.example>", "Subject: Name  Bcc: evil@b.example",
				"Auto-Submitted: auto-generated", "Date: ", "Message-ID: ",
			} {
				if !strings.Contains(got, part) {
					t.Errorf("the letter has no %q:\n%s", part, got)
				}
			}
			if strings.Contains(got, "\nBcc:") {
				t.Errorf("a name has become a header field:\n%s", got)
			}
			if signedIn := strings.HasPrefix(got, "SIGNED-IN"); signedIn != (encryption != plain) {
				t.Errorf("signed in = %t with %s", signedIn, encryption)
			}
		})
	}
}

func TestSendFails(t *testing.T) {
	t.Parallel()
	message := mail.Message{To: "to@b.example", Subject: "x", Text: "y"}
	unknown := &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	busy := &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again"}
	for name, tt := range map[string]struct {
		encryption string
		refusal    error
		beginning  string
		strange    bool
		to         string
		refused    bool
	}{
		// Nothing is sent in clear, whatever somebody on the way takes out of the server's answer.
		"NoStartTLS":         {encryption: plain},
		"UnknownCertificate": {encryption: startTLS, strange: true},
		"WrongPassword":      {encryption: startTLS, beginning: "smtp://user:wrong@"},
		"NoTLS":              {encryption: startTLS, beginning: "smtps" + user},
		"Busy":               {encryption: startTLS, refusal: busy},
		"UnknownRecipient":   {encryption: startTLS, refusal: unknown, refused: true},
		"NoAddress":          {encryption: startTLS, to: "nobody", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.encryption, tt.refusal)
			letter := message
			if tt.to != "" {
				letter.To = tt.to
			}
			if tt.strange {
				s.roots = nil
			}
			err := s.sender(t, cmp.Or(tt.beginning, "smtp"+user)).Send(t.Context(), letter)
			if err == nil || mail.IsRefused(err) != tt.refused {
				t.Errorf("error = %v, refused %t, want refused %t", err, mail.IsRefused(err), tt.refused)
			}
			select {
			case got := <-s.letters:
				t.Errorf("the server got %s", got)
			default:
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := serve(t, startTLS, nil)
	if err := s.sender(t, "smtp"+user).Check(t.Context()); err != nil {
		t.Errorf("check a server that answers: %v", err)
	}
	if err := s.sender(t, "smtp://user:wrong@").Check(t.Context()); err == nil {
		t.Error("a wrong password passes")
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "b.example:25", "http://b.example", "smtp://", "smtp://b.example/path",
		"smtp://b.example:99999999999999999999",
		"smtp://b.example?encryption=no", "smtps://b.example?encryption=none",
		// A password is not sent in clear.
		"smtp://user:password@b.example?encryption=none",
	} {
		if _, err := mail.New(mail.Config{URL: url, From: "a@b.example"}); err == nil {
			t.Errorf("%q: no error", url)
		}
	}
	if _, err := mail.New(mail.Config{URL: "smtp://b.example", From: "nobody"}); err == nil {
		t.Error("no error without a sender")
	}
	if mail.IsRefused(errors.New("anything")) {
		t.Error("an error that nobody knows is taken for a refusal")
	}
}
