package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestChooseAccount(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		known map[string]uint32
		want  string
	}{
		"Postgres":                   {map[string]uint32{"postgres": 101, "_postgres": 216, "nobody": 99}, "postgres"},
		"PostgresOfMacOS":            {map[string]uint32{"_postgres": 216, "nobody": 99}, "_postgres"},
		"NobodyAlone":                {map[string]uint32{"nobody": 99}, ""},
		"None":                       {nil, ""},
		"PostgresIsAnAliasOfNobody":  {map[string]uint32{"postgres": 99, "nobody": 99}, ""},
		"PostgresHasTheIDOfNobody":   {map[string]uint32{"postgres": nobodyID}, ""},
		"AnotherOneBesideSuchAnIDIs": {map[string]uint32{"postgres": nobodyID, "_postgres": 216}, "_postgres"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := chooseAccount(func(name string) (account, bool) {
				id, ok := tt.known[name]
				return lend(id, id, name), ok
			})
			if got.name != tt.want || (tt.want == "") != errors.Is(err, ErrNoAccount) {
				t.Errorf("user = %q, %v, want %q", got.name, err, tt.want)
			}
		})
	}
}

// Data of the user nobody are refused to root; a user who is not root has no choice of users.
func TestDataThatBelongToNobodyAreRefused(t *testing.T) {
	t.Parallel()
	data := filepath.Join(newDir(t), "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	root := os.Geteuid() == 0
	if root {
		if err := os.Chown(data, nobodyID, nobodyID); err != nil {
			t.Fatal(err)
		}
	}
	_, err := accountFor(data)
	if refused := err != nil && strings.Contains(err.Error(), "chown -R postgres"); refused != root {
		t.Errorf("account for data of nobody = %v, want it refused to root", err)
	}
}

// No process of another user reaches the socket, behind which everybody is superuser.
func TestOthersCannotConnect(t *testing.T) {
	t.Parallel()
	server := mustStart(t, newDir(t))
	found, err := os.Stat(server.socketDir)
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := found.Sys().(*syscall.Stat_t)
	if !ok || found.Mode().Perm() != 0o700 || isNobody(owner.Uid, lookUp) {
		t.Errorf("socket folder = %v of user %d, want it closed to all but a user of its own", found.Mode(), owner.Uid)
	}
	socket := filepath.Join(server.socketDir, socketName)
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		stranger := lend(nobodyID, nobodyID, "nobody")
		if err := stranger.command(t.Context(), "/", "/bin/sh", "-c", `test -e "$0"`, socket).Run(); err == nil {
			t.Error("nobody can reach the socket")
		}
	}
}
