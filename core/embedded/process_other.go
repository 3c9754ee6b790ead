//go:build !linux

package embedded

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent does nothing where the kernel offers no such thing: the next start finds the orphan and stops it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// inspect asks ps, as a zombie still answers to kill(pid, 0) and an id may have been given to another process.
func inspect(ctx context.Context, pid int, data string) standing {
	//nolint:gosec // G204: the only variable part is a number.
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "stat=,args=", "-p", strconv.Itoa(pid)).Output()
	state, args, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || state == "" || strings.HasPrefix(state, "Z") {
		return gone
	}
	// ps joins the arguments with spaces, which the folder may hold as well.
	program, rest, _ := strings.Cut(strings.TrimSpace(args), " -D ")
	if serves([]string{program, "-D", data}, data) && (rest == data || strings.HasPrefix(rest, data+" ")) {
		return ours
	}
	return foreign
}
