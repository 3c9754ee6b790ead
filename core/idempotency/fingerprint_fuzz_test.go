package idempotency_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// FuzzFingerprint looks for options whose order changes the fingerprint, or whose bytes do not.
func FuzzFingerprint(f *testing.F) {
	f.Add("filename", "a.csv", "name", "")
	f.Add("a", "bc", "ab", "c")
	f.Add("", "", "", "\x00")
	f.Fuzz(func(t *testing.T, firstName, firstValue, secondName, secondValue string) {
		first := idempotency.Option{Name: firstName, Value: firstValue}
		second := idempotency.Option{Name: secondName, Value: secondValue}
		of := func(options ...idempotency.Option) idempotency.Fingerprint {
			return idempotency.Request{Method: "POST", Endpoint: "e", Options: options}.Fingerprint()
		}
		if of(first, second) != of(second, first) {
			t.Error("the order of options makes a difference")
		}
		if (of(first) == of(second)) != (first == second) {
			t.Errorf("%q and %q: the fingerprints are equal or not, unlike the options", first, second)
		}
		joined := idempotency.Option{Name: firstName + firstValue, Value: secondName + secondValue}
		if of(first, second) == of(joined) {
			t.Errorf("two options have the fingerprint of the one %q", joined)
		}
	})
}
