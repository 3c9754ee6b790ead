package core_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

// The sum is computed here once more, as receivers in other languages do.
func TestSignatureIsOfTheCanonicalString(t *testing.T) {
	t.Parallel()
	const body = `{"a":1}`
	signer := core.NewSigner(core.Subject{Direction: core.DirectionCall, Receipt: "receipt-1", Run: "run-1"},
		time.Unix(1_800_000_000, 0), []byte("secret"))
	_, _ = signer.Write([]byte(body)) // It never fails.
	canonical := fmt.Sprintf("v2.call.1800000000.receipt-1.run-1.%x", sha256.Sum256([]byte(body)))
	if got, want := signer.Header(), "t=1800000000,v2="+hmacOf(canonical, []byte("secret")); got != want {
		t.Errorf("signature = %s, want %s", got, want)
	}
}

func hmacOf(text string, secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(text)) // It never fails.
	return hex.EncodeToString(mac.Sum(nil))
}

func TestSignature(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	current, previous := []byte("current"), []byte("previous")
	of := func(direction core.Direction, receipt, run string) core.Subject {
		return core.Subject{Direction: direction, Receipt: receipt, Run: run}
	}
	subject := of(core.DirectionCallback, "receipt-1", "run-1")
	signSubject := func(subject core.Subject, at time.Time, secrets ...[]byte) string {
		signer := core.NewSigner(subject, at, secrets...)
		_, _ = signer.Write([]byte(`{"a":`)) // It never fails.
		_, _ = signer.Write([]byte(`1}`))    // It never fails.
		return signer.Header()
	}
	sign := func(at time.Time, secrets ...[]byte) string { return signSubject(subject, at, secrets...) }
	good := sign(now, current)
	const body = `{"a":1}`
	for name, tt := range map[string]struct {
		signature, body string
		secrets         [][]byte
		valid           bool
	}{
		"Good":            {good, body, [][]byte{current}, true},
		"OneOfTheSecrets": {good, body, [][]byte{previous, current}, true},
		"OneOfTheSums":    {sign(now, previous, current), body, [][]byte{current}, true},
		"InTheLastMoment": {sign(now.Add(-5*time.Minute), current), body, [][]byte{current}, true},
		"TooOld":          {sign(now.Add(-301*time.Second), current), body, [][]byte{current}, false},
		"FromTheFuture":   {sign(now.Add(301*time.Second), current), body, [][]byte{current}, false},
		"AnotherBody":     {good, `{"a":2}`, [][]byte{current}, false},
		"AnotherSecret":   {good, body, [][]byte{previous}, false},
		"NoSecret":        {good, body, nil, false},
		"AnotherTime":     {strings.Replace(good, "00,v2", "01,v2", 1), body, [][]byte{current}, false},
		"OfACall": {
			signSubject(of(core.DirectionCall, "receipt-1", "run-1"), now, current), body, [][]byte{current}, false,
		},
		"OfAnotherReceipt": {
			signSubject(of(core.DirectionCallback, "receipt-2", "run-1"), now, current), body, [][]byte{current}, false,
		},
		"OfAnotherRun": {
			signSubject(of(core.DirectionCallback, "receipt-1", "run-2"), now, current), body, [][]byte{current}, false,
		},
		"OfTheBodyAlone": {
			"t=1800000000,v2=" + hmacOf("1800000000."+body, current), body, [][]byte{current}, false,
		},
		"NoSignature":          {"", body, [][]byte{current}, false},
		"NoSum":                {"t=1800000000", body, [][]byte{current}, false},
		"NoSumInIt":            {"t=1800000000,v2=", body, [][]byte{current}, false},
		"NoVersion":            {strings.Replace(good, "v2=", "", 1), body, [][]byte{current}, false},
		"NoHex":                {"t=1800000000,v2=zz", body, [][]byte{current}, false},
		"NoTime":               {strings.Replace(good, "t=1800000000", "t=", 1), body, [][]byte{current}, false},
		"TimeBeyondAllNumbers": {strings.Replace(good, "t=18", "t=99999999999999", 1), body, [][]byte{current}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := core.VerifySignature(tt.signature, subject, []byte(tt.body), now, tt.secrets...)
			if (err == nil) != tt.valid {
				t.Errorf("error = %v, want valid = %t", err, tt.valid)
			}
		})
	}
}
