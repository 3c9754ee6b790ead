package keyring_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/keyring"
)

func mustParse(tb testing.TB, text string) keyring.Ring {
	tb.Helper()
	ring, err := keyring.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

func TestRing(t *testing.T) {
	t.Parallel()
	first, second := keyring.Generate(), keyring.Generate()
	place := keyring.Binding{OrgID: uuid.New(), Column: "signing_keys.sealed"}
	secret := []byte("the secret itself")
	sealed, err := mustParse(t, first).Seal(secret, place)
	if err != nil || bytes.Contains(sealed, secret) {
		t.Fatalf("seal = %q, %v, want ciphertext", sealed, err)
	}
	again, err := mustParse(t, first).Seal(secret, place)
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("a secret sealed twice is the same, %v; want another nonce", err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, tt := range map[string]struct {
		ring   string
		sealed []byte
		place  keyring.Binding
		opens  bool
	}{
		"SameKey":             {first, sealed, place, true},
		"KeyBehindAnother":    {second + "," + first, sealed, place, true},
		"AnotherKey":          {second, sealed, place, false},
		"NoKey":               {"", sealed, place, false},
		"AnotherOrganization": {first, sealed, keyring.Binding{OrgID: uuid.New(), Column: place.Column}, false},
		"AnotherColumn":       {first, sealed, keyring.Binding{OrgID: place.OrgID, Column: "x.y"}, false},
		"Changed":             {first, changed, place, false},
		"CutOff":              {first, sealed[:keyring.IDBytes+3], place, false},
		"Empty":               {first, nil, place, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mustParse(t, tt.ring).Open(tt.sealed, tt.place)
			if tt.opens != (err == nil) || tt.opens != bytes.Equal(got, secret) {
				t.Errorf("open = %q, %v, want it to open: %t", got, err, tt.opens)
			}
		})
	}
}

func TestRingSealsUnderTheFirstKey(t *testing.T) {
	t.Parallel()
	first, second := keyring.Generate(), keyring.Generate()
	both := mustParse(t, second+", "+first)
	sealed, err := both.Seal([]byte("x"), keyring.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	if id := both.IDs()[0]; id != mustParse(t, second).IDs()[0] || !bytes.HasPrefix(sealed, id[:]) {
		t.Error("the first key did not seal")
	}
	if _, err := mustParse(t, first).Open(sealed, keyring.Binding{}); !errors.Is(err, keyring.ErrUnknownKey) {
		t.Errorf("open with the other key = %v, want ErrUnknownKey", err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := keyring.Generate()
	for name, text := range map[string]string{
		"NoBase64": "this is not a key", "TooShort": "c2hvcnQ=", "Trailing": good + ",",
		"SecondIsWrong": good + ",secret-text",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := keyring.Parse(text)
			if err == nil || strings.Contains(err.Error(), good) || strings.Contains(err.Error(), "secret-text") {
				t.Errorf("parse = %v, want an error without the text", err)
			}
		})
	}
}
