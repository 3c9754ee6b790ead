package account_test

import (
	"errors"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users/account"
)

func TestCommonPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	passwords := account.NewPasswords()
	passwords.HashCheaply()
	for password, isRefused := range map[string]bool{
		"password1234": true, "Password!2026": true, "welcome12345": true, "1q2w3e4r5t6y": true,
		"qwerty123456": true, "iloveyou!!!!": true, "SimpleValidations1": true,
		"passwordpassword": true, "abcabcabcabc": true, "aaaaaaaaaaaaaaaa": true, "trustno1trustno1": true,
		"123456789012": true, "abcdefghijkl": true, "zyxwvutsrqpo": true,
		"correct horse battery": false, "a long password": false, "wrong-password-12": false,
		"JBSWY3DPEHPK3PXP": false, "524133290812": false, "übermäßig lang": false,
		"correct horse correct horse": false,
	} {
		_, err := passwords.Hash(t.Context(), password)
		if isRefused != errors.Is(err, api.CodeInvalidPayload) || !isRefused && err != nil {
			t.Errorf("%q: %v, want it refused: %t", password, err, isRefused)
		}
	}
}
