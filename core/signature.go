package core

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// HeaderSignature signs what this service sends to another one and what that one sends back: "t=<unix seconds>" and,
// after a comma, "v2=<hex HMAC-SHA256>" over
//
//	v2.<direction>.<unix seconds>.<receipt>.<run>.<hex SHA-256 of the body>
//
// There is one v2 for each secret that is in use; any of them is enough.
const HeaderSignature = "Sv-Signature"

// HeaderReceipt and HeaderRun carry the receipt and the run of a signed call, so that its receiver can verify the
// signature before it reads the body.
const (
	HeaderReceipt = "Sv-Receipt"
	HeaderRun     = "Sv-Run"
)

// SignatureTolerance is how far the clocks may be apart. An older message may be a recorded one.
const SignatureTolerance = 5 * time.Minute

// Direction says what kind of message is signed. A signature of one kind never verifies as one of another.
type Direction string

// The directions: a call of an external validator, its callback, and a charge at the billing service.
const (
	DirectionCall     Direction = "call"
	DirectionCallback Direction = "callback"
	DirectionCharge   Direction = "charge"
)

// Subject is what a signature binds besides its time and the body.
type Subject struct {
	Direction Direction
	// Receipt is the id of the call that is made or answered; of a charge it is the idempotency key.
	Receipt string
	// Run is the id of the run that the message is about.
	Run string
}

// Signer signs a body that is written to it.
type Signer struct {
	subject Subject
	stamp   string
	secrets [][]byte
	body    hash.Hash
}

// NewSigner begins a signature of the subject at a time, under one secret or more.
func NewSigner(subject Subject, at time.Time, secrets ...[]byte) *Signer {
	return &Signer{
		subject: subject, stamp: strconv.FormatInt(at.Unix(), 10), secrets: secrets, body: sha256.New(),
	}
}

// Write adds to the body. It never fails.
func (s *Signer) Write(part []byte) (int, error) {
	return s.body.Write(part)
}

// Header returns the signature of what was written, as HeaderSignature carries it.
func (s *Signer) Header() string {
	var header strings.Builder
	header.WriteString("t=" + s.stamp)
	for _, sum := range s.sums() {
		header.WriteString(",v2=" + hex.EncodeToString(sum))
	}
	return header.String()
}

// sums returns the sum under each secret.
func (s *Signer) sums() [][]byte {
	canonical := fmt.Appendf(nil, "v2.%s.%s.%s.%s.%x",
		s.subject.Direction, s.stamp, s.subject.Receipt, s.subject.Run, s.body.Sum(nil))
	sums := make([][]byte, len(s.secrets))
	for i, secret := range s.secrets {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write(canonical) // A hash never fails.
		sums[i] = mac.Sum(nil)
	}
	return sums
}

// VerifySignature checks the signature of a body that has arrived at the time. The error says what is wrong with it
// and nothing about the secrets.
func VerifySignature(signature string, subject Subject, body []byte, now time.Time, secrets ...[]byte) error {
	stamp, rest, _ := strings.Cut(signature, ",")
	seconds, err := strconv.ParseInt(strings.TrimPrefix(stamp, "t="), 10, 64)
	if err != nil || !strings.HasPrefix(stamp, "t=") {
		return errors.New("the signature has not the form t=<seconds>,v2=<sum>")
	}
	at := time.Unix(seconds, 0)
	if now.Sub(at).Abs() > SignatureTolerance {
		return fmt.Errorf("the signature's time is more than %s away from now", SignatureTolerance)
	}
	signer := NewSigner(subject, at, secrets...)
	_, _ = signer.Write(body) // It never fails.
	expected := signer.sums()
	for given := range strings.SplitSeq(rest, ",") {
		sum, err := hex.DecodeString(strings.TrimPrefix(given, "v2="))
		if err != nil || !strings.HasPrefix(given, "v2=") {
			continue
		}
		for _, one := range expected {
			if hmac.Equal(sum, one) {
				return nil
			}
		}
	}
	return errors.New("the signature does not match the " + string(subject.Direction) + ", its receipt, run and body")
}

// SignWebhook sets the headers of Standard Webhooks for a body, with a signature under each secret.
func SignWebhook(
	header http.Header, scheme api.SignatureScheme, id string, at time.Time, body []byte, secrets ...[]byte,
) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	content := append([]byte(id+"."+seconds+"."), body...)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		var sum []byte
		if scheme == api.SignatureSchemeV1a {
			sum = ed25519.Sign(ed25519.NewKeyFromSeed(secret), content)
		} else {
			mac := hmac.New(sha256.New, secret)
			_, _ = mac.Write(content) // A hash never fails.
			sum = mac.Sum(nil)
		}
		signatures[i] = string(scheme) + "," + base64.StdEncoding.EncodeToString(sum)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", seconds)
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
}
