package outside_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	guideSecret  = "svs_of-the-guide"
	guideReceipt = "0199e0a4-7c11-7d02-b1f3-5e9a0c2d4b68"
	guideRun     = "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9a11"
	guideBody    = `{"key":"sv-run-1-step-0","content":"w6TigqwK"}`
)

// driver asks the guide's code about lines of a signature and a body in hexadecimal, and lets it sign the last body.
func drivers() map[string]string {
	return map[string]string{
		"python": `
import sys
for line in sys.stdin:
    header, receipt, run, body = line.rstrip("\n").split("\t")
    headers = {"Sv-Signature": header, "Sv-Receipt": receipt, "Sv-Run": run}
    print(verify(sys.argv[1], headers, bytes.fromhex(body)))
print(sign(sys.argv[1], "callback", receipt, run, bytes.fromhex(body), int(time.time())))
`,
		"go": `
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	var header http.Header
	var body []byte
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		header = http.Header{"Sv-Signature": fields[:1], "Sv-Receipt": fields[1:2], "Sv-Run": fields[2:3]}
		body, _ = hex.DecodeString(fields[3])
		fmt.Println(verify(os.Args[1], header, body))
	}
	receipt, run := header.Get("Sv-Receipt"), header.Get("Sv-Run")
	fmt.Println(sign(os.Args[1], "callback", receipt, run, body, time.Now().Unix()))
}
`,
	}
}

// block returns the guide's block of code in a language.
func block(tb testing.TB, language string) string {
	tb.Helper()
	page, ok := docs.Page("guides/validators/http")
	if !ok {
		tb.Fatal("there is no guide to external validators")
	}
	_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
	code, _, ok := strings.Cut(rest, "```")
	if !ok {
		tb.Fatalf("the guide has no block of %s", language)
	}
	return code
}

// program writes the guide's code with its driver and returns the command that runs it.
func program(tb testing.TB, language string) *exec.Cmd {
	tb.Helper()
	dir := tb.TempDir()
	if language == "python" {
		python, err := exec.LookPath("python3")
		if err != nil {
			tb.Skip("python3 is not installed")
		}
		file := filepath.Join(dir, "guide.py")
		write(tb, file, block(tb, language)+drivers()[language])
		return exec.CommandContext(tb.Context(), python, file, guideSecret)
	}
	write(tb, filepath.Join(dir, "go.mod"), "module guide\n\ngo 1.24\n")
	write(tb, filepath.Join(dir, "guide.go"), block(tb, language))
	write(tb, filepath.Join(dir, "main.go"), drivers()[language])
	command := exec.CommandContext(tb.Context(), "go", "run", ".", guideSecret)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	return command
}

func write(tb testing.TB, file, text string) {
	tb.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func signed(at time.Time, secrets ...string) string {
	return signedAs(core.DirectionCall, at, secrets...)
}

func signedAs(direction core.Direction, at time.Time, secrets ...string) string {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		keys[i] = []byte(secret)
	}
	signer := core.NewSigner(core.Subject{
		Direction: direction, Receipt: guideReceipt, Run: guideRun,
	}, at, keys...)
	_, _ = signer.Write([]byte(guideBody)) // It never fails.
	return signer.Header()
}

// What people copy from the guide understands what is sent, and is understood.
func TestGuide(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := signed(now, guideSecret)
	answer := core.Subject{Direction: core.DirectionCallback, Receipt: guideReceipt, Run: guideRun}
	questions := []struct {
		header, receipt, run, body string
		valid                      bool
	}{
		{good, guideReceipt, guideRun, guideBody, true},
		{signed(now, "svs_new", guideSecret), guideReceipt, guideRun, guideBody, true},
		{signed(now.Add(-4*time.Minute), guideSecret), guideReceipt, guideRun, guideBody, true},
		{good, guideReceipt, guideRun, guideBody + " ", false},
		{signed(now, "svs_of-another"), guideReceipt, guideRun, guideBody, false},
		{signed(now.Add(-6*time.Minute), guideSecret), guideReceipt, guideRun, guideBody, false},
		{good, guideRun, guideRun, guideBody, false},
		{good, guideReceipt, guideReceipt, guideBody, false},
		{signedAs(core.DirectionCallback, now, guideSecret), guideReceipt, guideRun, guideBody, false},
		{signed(now.Add(6*time.Minute), guideSecret), guideReceipt, guideRun, guideBody, false},
		{"", guideReceipt, guideRun, guideBody, false},
		{"t=,v2=", guideReceipt, guideRun, guideBody, false},
		{"v2=00", guideReceipt, guideRun, guideBody, false},
		{"t=1e9,v2=00", guideReceipt, guideRun, guideBody, false},
		{fmt.Sprintf("t=%d", now.Unix()), guideReceipt, guideRun, guideBody, false},
		{fmt.Sprintf("t=%d,v2=ä", now.Unix()), guideReceipt, guideRun, guideBody, false},
	}
	var input strings.Builder
	for _, question := range questions {
		fmt.Fprintf(&input, "%s\t%s\t%s\t%s\n", question.header, question.receipt, question.run,
			hex.EncodeToString([]byte(question.body)))
	}
	for language := range drivers() {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			command := program(t, language)
			command.Stdin = strings.NewReader(input.String())
			output, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("run the guide's code: %v\n%s", err, output)
			}
			lines := strings.Split(strings.TrimSpace(string(output)), "\n")
			if len(lines) != len(questions)+1 {
				t.Fatalf("answers = %d, want %d:\n%s", len(lines), len(questions)+1, output)
			}
			for i, question := range questions {
				if valid := strings.EqualFold(lines[i], "true"); valid != question.valid {
					t.Errorf("%q is valid = %t, want %t", question.header, valid, question.valid)
				}
			}
			own := lines[len(questions)]
			err = core.VerifySignature(own, answer, []byte(guideBody), time.Now(), []byte(guideSecret))
			if err != nil {
				t.Errorf("the guide's signature %q: %v", own, err)
			}
		})
	}
}
