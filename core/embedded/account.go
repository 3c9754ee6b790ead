package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// nobodyID is the id of nobody on Linux, also where the machine does not know the name.
const nobodyID = 65534

// ErrNoAccount says that root has no user to run PostgreSQL as, and what to do about it.
var ErrNoAccount = errors.New("PostgreSQL does not run as root, and there is no user to run it as; do one of\n" +
	"  make one:             useradd --system --no-create-home --shell /usr/sbin/nologin postgres\n" +
	"  run the service as another user than root\n" +
	"  use a server of your own through DATABASE_URL")

// account is the user that the server runs as. PostgreSQL refuses to run as root, so a service that is root uses
// another user; otherwise it is the user of the process.
type account struct {
	credential *syscall.Credential // nil when the server runs as the user of the process
	name       string
}

// accountFor picks the user for a cluster in data. An existing cluster keeps its owner, because PostgreSQL refuses data
// of another user, and another candidate may have appeared since they were made.
func accountFor(data string) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: strconv.Itoa(os.Geteuid())}, nil
	}
	if found, err := os.Stat(data); err == nil {
		owner, ok := found.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid == 0 {
			return account{}, fmt.Errorf("%s belongs to root, whom PostgreSQL refuses: chown it to its user", data)
		}
		if isNobody(owner.Uid, lookUp) {
			return account{}, fmt.Errorf("%s belongs to nobody, as whom any process may run: chown -R postgres %s",
				data, filepath.Dir(data))
		}
		return lend(owner.Uid, owner.Gid, strconv.FormatUint(uint64(owner.Uid), 10)), nil
	}
	return chooseAccount(lookUp)
}

// chooseAccount returns the user of PostgreSQL that the machine knows. Nobody is no choice: other daemons run as
// nobody, and a process of the server's user can read its files, change them, and so become database superuser.
func chooseAccount(lookUp func(name string) (account, bool)) (account, error) {
	for _, name := range []string{"postgres", "_postgres"} {
		if who, ok := lookUp(name); ok && !isNobody(who.credential.Uid, lookUp) {
			return who, nil
		}
	}
	return account{}, ErrNoAccount
}

func isNobody(id uint32, lookUp func(name string) (account, bool)) bool {
	who, known := lookUp("nobody")
	return id == nobodyID || known && id == who.credential.Uid
}

// command prepares a child of that user. It starts in dir, as the current folder may be closed to the user, and in a
// process group of its own, so that Ctrl-C in a terminal reaches this program alone and not its server.
func (a account) command(ctx context.Context, dir, path string, args ...string) *exec.Cmd {
	//nolint:gosec // G204: the path is one of the found binaries or a constant.
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	// The program's own variables stay out: PGDATA, PGPORT and locales would change the server, secrets would leak.
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: a.credential}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// own hands a file or folder to the user.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	if err := os.Lchown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return fmt.Errorf("give to user %s: %w", a.name, err)
	}
	return nil
}

// canEnter tries, as any parent folder may be closed to the user in more ways than its mode shows. Only the shell's own
// refusal counts as a no: an ended context must not move a database elsewhere.
func (a account) canEnter(ctx context.Context, dir string) (bool, error) {
	if a.credential == nil {
		return true, nil
	}
	err := a.command(ctx, "/", "/bin/sh", "-c", `cd -- "$0"`, filepath.Clean(dir)).Run()
	if _, refused := errors.AsType[*exec.ExitError](err); refused && ctx.Err() == nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("act as user %s, who runs PostgreSQL for root: %w", a.name, err)
	}
	return true, nil
}

func lend(uid, gid uint32, name string) account {
	return account{credential: &syscall.Credential{Uid: uid, Gid: gid}, name: name}
}

func lookUp(name string) (account, bool) {
	found, err := user.Lookup(name)
	if err != nil {
		return account{}, false
	}
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	if uidErr != nil || gidErr != nil || uid == 0 {
		return account{}, false
	}
	return lend(uint32(uid), uint32(gid), name), true
}
