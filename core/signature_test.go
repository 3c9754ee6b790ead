package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestSignature(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	current, previous := []byte("current"), []byte("previous")
	sign := func(at time.Time, secrets ...[]byte) string {
		signer := core.NewSigner(at, secrets...)
		_, _ = signer.Write([]byte(`{"a":`)) // It never fails.
		_, _ = signer.Write([]byte(`1}`))    // It never fails.
		return signer.Header()
	}
	good := sign(now, current)
	const body = `{"a":1}`
	for name, tt := range map[string]struct {
		signature, body string
		secrets         [][]byte
		valid           bool
	}{
		"Good":                 {good, body, [][]byte{current}, true},
		"OneOfTheSecrets":      {good, body, [][]byte{previous, current}, true},
		"OneOfTheSums":         {sign(now, previous, current), body, [][]byte{current}, true},
		"InTheLastMoment":      {sign(now.Add(-5*time.Minute), current), body, [][]byte{current}, true},
		"TooOld":               {sign(now.Add(-301*time.Second), current), body, [][]byte{current}, false},
		"FromTheFuture":        {sign(now.Add(301*time.Second), current), body, [][]byte{current}, false},
		"AnotherBody":          {good, `{"a":2}`, [][]byte{current}, false},
		"AnotherSecret":        {good, body, [][]byte{previous}, false},
		"NoSecret":             {good, body, nil, false},
		"AnotherTime":          {strings.Replace(good, "00,v1", "01,v1", 1), body, [][]byte{current}, false},
		"NoSignature":          {"", body, [][]byte{current}, false},
		"NoSum":                {"t=1800000000", body, [][]byte{current}, false},
		"NoSumInIt":            {"t=1800000000,v1=", body, [][]byte{current}, false},
		"NoVersion":            {strings.Replace(good, "v1=", "", 1), body, [][]byte{current}, false},
		"NoHex":                {"t=1800000000,v1=zz", body, [][]byte{current}, false},
		"NoTime":               {strings.Replace(good, "t=1800000000", "t=", 1), body, [][]byte{current}, false},
		"TimeBeyondAllNumbers": {strings.Replace(good, "t=18", "t=99999999999999", 1), body, [][]byte{current}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := core.VerifySignature(tt.signature, []byte(tt.body), now, tt.secrets...)
			if (err == nil) != tt.valid {
				t.Errorf("error = %v, want valid = %t", err, tt.valid)
			}
		})
	}
}
