package guides

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// command is what somebody types, over several lines perhaps, and what is printed then.
type command struct {
	typed, printed string
}

// TestSessions executes the sessions of each page on an installation of its own.
func TestSessions(t *testing.T) {
	t.Parallel()

	pages := pagesOf(ofLanguage(readBlocks(t), "console"))
	delete(pages, "deployment")          // It makes an installation itself: see TestDeployment.
	delete(pages, "one-machine-to-many") // It has two of them: see TestOneMachineToMany.
	if len(pages["tutorial"]) == 0 {
		t.Error("the tutorial has no session")
	}
	for page, blocks := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			sh, known := openShell(t), newTranscript()
			for _, b := range blocks {
				sh.follow(t, b, known)
			}
		})
	}
}

// readSession cuts a block into its commands. A command goes on behind a line that ends with a backslash, and on lines
// with the shell's second prompt.
func readSession(tb testing.TB, b block) []command {
	tb.Helper()
	var commands []command
	for line := range strings.Lines(b.code) {
		typed, begins := strings.CutPrefix(line, "$ ")
		if begins {
			commands = append(commands, command{typed: typed})
			continue
		}
		if len(commands) == 0 {
			tb.Fatalf("%s begins without a command", b)
		}
		current := &commands[len(commands)-1]
		more, isMore := strings.CutPrefix(line, "> ")
		switch {
		case current.printed == "" && isMore:
			current.typed += more
		case current.printed == "" && strings.HasSuffix(current.typed, "\\\n"):
			current.typed += line
		default:
			current.printed += line
		}
	}
	return commands
}

// shell executes commands one after the other, as somebody does who follows a page.
type shell struct {
	stdin  io.Writer
	stdout *bufio.Reader
}

// follow executes the commands of a block, each of which has to print what the block shows.
func (s *shell) follow(tb testing.TB, b block, known *transcript) {
	tb.Helper()
	for _, c := range readSession(tb, b) {
		if err := known.compare(c.printed, s.execute(tb, known.actual(c.typed))); err != nil {
			tb.Fatalf("%s: $ %s%v", b, c.typed, err)
		}
	}
}

// openShell starts a shell on a new installation that is served.
func openShell(tb testing.TB) *shell {
	tb.Helper()
	return openShellOn(tb, program.Install(tb))
}

func openShellOn(tb testing.TB, installation *program.Installation) *shell {
	tb.Helper()
	server := program.Serve(tb, installation.Settings)
	cmd := exec.CommandContext(tb.Context(), "bash", "-s")
	cmd.Dir = workplace(tb)
	cmd.Env = append(plainEnviron(cmd.Dir, installation.Settings...),
		"SV="+server.URL(), "TOKEN="+installation.Harbour.Tokens.Executor)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	return startShell(tb, cmd, func() {
		_ = cmd.Wait() // A session may end with a command that fails.
		if tb.Failed() {
			tb.Logf("on standard error:\n%s", &complaints)
		}
	})
}

// startShell starts a shell, which ends with its input, and waits for its end at the end of the test.
func startShell(tb testing.TB, cmd *exec.Cmd, wait func()) *shell {
	tb.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close() // Nothing more is typed.
		wait()
	})
	return &shell{stdin: stdin, stdout: bufio.NewReader(stdout)}
}

// execute runs a command to its end and returns what it has printed on standard output.
func (s *shell) execute(tb testing.TB, typed string) string {
	tb.Helper()
	const separator = '\x1e'
	if _, err := fmt.Fprintf(s.stdin, "%s\nstatus=$?; printf '%c'; (exit $status)\n", typed, separator); err != nil {
		tb.Fatalf("type %s: %v", typed, err)
	}
	printed, err := s.stdout.ReadString(separator)
	if err != nil {
		tb.Fatalf("execute %s: %v", typed, err)
	}
	return strings.TrimSuffix(printed, string(separator))
}

// plainEnviron is the environment of commands in a workplace, with more variables. Nothing of the machine's own changes
// what they print, and nothing is left in its home.
func plainEnviron(dir string, more ...string) []string {
	return slices.Concat(os.Environ(), []string{
		"HOME=" + dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GITHUB_ACTIONS=", "GITHUB_RUN_ID=", "GITLAB_CI=",
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
	}, more)
}

// workplace is a folder in which a page's commands find what they find at the top of the repository.
func workplace(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	documents, err := filepath.Abs(filepath.Join(repository, "docs"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		tb.Fatal(err)
	}
	for name, target := range map[string]string{
		"docs": documents, "bin/simplevalidations": os.Getenv("TEST_PROGRAM"),
	} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
