package access

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/docs"
)

// The checksums are those of Python's zlib.crc32.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for random, want := range map[string]string{
		"\x00": "svt_00000000000000000000000000000000000000000004ulXoJ",
		"\xff": "svt_YHJSKWDa6oz1al1yMhwzwM8llg7hJNUca2J5RoW8xP11hURsc",
	} {
		secret, _, prefix := new(Service).secretOf(bytes.Repeat([]byte(random), randomBytes))
		if secret != want || prefix != want[:10] {
			t.Errorf("secret of %x = %s with the prefix %s, want %s", random, secret, prefix, want)
		}
	}
	inCell := &Service{cell: "eu1"}
	secret, _, prefix := inCell.secretOf(make([]byte, randomBytes))
	if want := "svt_eu1_00000000000000000000000000000000000000000003ecchK"; secret != want || prefix != want[:14] {
		t.Errorf("secret of a cell = %s with the prefix %s, want %s", secret, prefix, want)
	}
	const whole = "svt_YHJSKWDa6oz1al1yMhwzwM8llg7hJNUca2J5RoW8xP11hURsc"
	for secret, isRefused := range map[string]bool{
		whole: false,
		// The name of a cell.
		"svt_eu1_00000000000000000000000000000000000000000003ecchK": false,
		"svt_eu2_00000000000000000000000000000000000000000003ecchK": true,
		// Tokens without a checksum.
		"sv_" + strings.Repeat("A", 43): false, "sv_other": false,
		whole[:52]: true, whole + "0": true, whole[:52] + "d": true, "svt_Z" + whole[5:]: true,
		"svt_": true, "svt_0": true, "svt__" + whole[4:]: true, "svt_\xff" + whole[5:]: true,
	} {
		got, err := bearer([]string{"Bearer " + secret})
		if isRefused != errors.Is(err, api.CodeNotAuthenticated) || !isRefused && got != secret {
			t.Errorf("%q was read as %q, %v; want it refused: %t", secret, got, err, isRefused)
		}
	}
}

// What the documents say about the form is true, and their tokens have it.
func TestDocumentedSecrets(t *testing.T) {
	t.Parallel()
	form := strings.Trim(secretForm.String(), "^$")
	guide, found := docs.Page("guides/roles")
	if !found || !bytes.Contains(guide, []byte("\n"+form+"\n")) {
		t.Errorf("the guide on tokens does not show %s", form)
	}
	tokens := regexp.MustCompile(`svt_\w{20,}`).FindAllString(string(docs.OpenAPI()), -1)
	for _, token := range tokens {
		if isDamaged(token) {
			t.Errorf("the OpenAPI document has the damaged token %s", token)
		}
	}
	if len(tokens) < 2 {
		t.Errorf("the OpenAPI document has the tokens %v, want more", tokens)
	}
}
