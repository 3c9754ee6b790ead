package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"
)

// HeaderSignature signs what this service sends to another one and what that one sends back: "t=<unix seconds>" and,
// after a comma, "v1=<hex HMAC-SHA256>" over the seconds, a full stop and the body. There is one v1 for each secret
// that is in use; any of them is enough.
const HeaderSignature = "Sv-Signature"

// SignatureTolerance is how far the clocks may be apart. An older message may be a recorded one.
const SignatureTolerance = 5 * time.Minute

// Signer signs a body that is written to it.
type Signer struct {
	stamp string
	sums  []hash.Hash
}

// NewSigner begins a signature at a time, under one secret or more.
func NewSigner(at time.Time, secrets ...[]byte) *Signer {
	s := &Signer{stamp: strconv.FormatInt(at.Unix(), 10), sums: make([]hash.Hash, len(secrets))}
	for i, secret := range secrets {
		s.sums[i] = hmac.New(sha256.New, secret)
	}
	_, _ = s.Write([]byte(s.stamp + ".")) // It never fails.
	return s
}

// Write adds to the body. It never fails.
func (s *Signer) Write(part []byte) (int, error) {
	for _, sum := range s.sums {
		_, _ = sum.Write(part) // A hash never fails.
	}
	return len(part), nil
}

// Header returns the signature of what was written, as HeaderSignature carries it.
func (s *Signer) Header() string {
	var b strings.Builder
	b.WriteString("t=" + s.stamp)
	for _, sum := range s.sums {
		b.WriteString(",v1=" + hex.EncodeToString(sum.Sum(nil)))
	}
	return b.String()
}

// VerifySignature checks the signature of a body that has arrived at the time. The error says what is wrong with it
// and nothing about the secrets.
func VerifySignature(signature string, body []byte, now time.Time, secrets ...[]byte) error {
	stamp, rest, _ := strings.Cut(signature, ",")
	seconds, err := strconv.ParseInt(strings.TrimPrefix(stamp, "t="), 10, 64)
	if err != nil || !strings.HasPrefix(stamp, "t=") {
		return errors.New("the signature has not the form t=<seconds>,v1=<sum>")
	}
	at := time.Unix(seconds, 0)
	if now.Sub(at).Abs() > SignatureTolerance {
		return fmt.Errorf("the signature's time is more than %s away from now", SignatureTolerance)
	}
	for given := range strings.SplitSeq(rest, ",") {
		sum, err := hex.DecodeString(strings.TrimPrefix(given, "v1="))
		if err != nil || !strings.HasPrefix(given, "v1=") {
			continue
		}
		signer := NewSigner(at, secrets...)
		_, _ = signer.Write(body) // It never fails.
		for _, expected := range signer.sums {
			if hmac.Equal(sum, expected.Sum(nil)) {
				return nil
			}
		}
	}
	return errors.New("the signature does not fit the body")
}
