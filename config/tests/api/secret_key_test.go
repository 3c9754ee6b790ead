package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

func TestRotationOfTheSecretKey(t *testing.T) {
	t.Parallel()
	s := setupExternal(t)
	c := s.Console(t)
	fresh := keyring.Generate()
	with := func(key string) fixture.Console {
		return fixture.Console{Environ: append(slices.Clip(c.Environ), "SV_SECRET_KEY="+key)}
	}
	says := func(c fixture.Console, want string) {
		t.Helper()
		if _, said, complaint := c.Run(t, "doctor"); !strings.Contains(said, want) {
			t.Errorf("doctor = %s %s, want %q", said, complaint, want)
		}
	}
	says(with(fixture.SecretKey), "SV116  ok")
	says(with(""), "SV_SECRET_KEY is not set")
	says(with(fresh), "a key that SV_SECRET_KEY does not have")
	if code, _, complaint := with(fresh).Run(t, "serve"); code != 2 || !strings.Contains(complaint, "does not have") {
		t.Errorf("serve with another key = %d, %s; want 2", code, complaint)
	}
	both := with(fresh + "," + fixture.SecretKey)
	says(both, "secrets rotate")
	code, said, complaint := both.Run(t, "secrets", "rotate")
	if code != 0 || !strings.HasPrefix(said, "1 secret ") {
		t.Errorf("secrets rotate = %d, %s%s; want one secret", code, said, complaint)
	}
	says(with(fresh), "SV116  ok")
	show := []string{"signing-secret", "--org", "harbour-energy", "--validator", s.origin}
	if code, shown, complaint := with(fresh).Run(t, show...); code != 0 || shown != s.secret+"\n" {
		t.Errorf("secret under the new key = %d, %s; want the same as before", code, complaint)
	}
	if code, _, complaint := with(fixture.SecretKey).Run(t, show...); code == 0 {
		t.Errorf("the old key still opens the secret; %s", complaint)
	}
	if code, _, _ := with("").Run(t, "secrets", "rotate"); code != 2 {
		t.Errorf("secrets rotate without a key = %d, want 2", code)
	}
}
