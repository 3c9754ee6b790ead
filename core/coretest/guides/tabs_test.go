package guides

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/clients"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// tabGroup is a group of tabs that do the same, and what each of them prints.
type tabGroup struct {
	tabs  []block
	shown string
}

// tabGroupsOf lists the groups of tabs behind which a page shows what they print. Others have tests of their own.
func tabGroupsOf(blocks []block) []tabGroup {
	var groups []tabGroup
	var tabs []block
	for _, b := range blocks {
		switch {
		case b.tab != "" && b.language != "console":
			tabs = append(tabs, b)
			continue
		case b.language == "text" && len(tabs) > 0:
			groups = append(groups, tabGroup{tabs: tabs, shown: b.code})
		}
		tabs = nil
	}
	return groups
}

// follower is somebody who follows a page in one language: with a service, its address and a token, the id of a run,
// and a document.
type follower struct {
	dir     string
	environ []string
}

func setupFollower(tb testing.TB, i *program.Installation, address string) follower {
	tb.Helper()
	dir := workplace(tb)
	document, err := os.ReadFile(filepath.Join(repository, "docs", "samples", "warn", "meter-readings.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	writeFiles(tb, dir, map[string][]byte{"meter-readings.csv": document})
	f := follower{dir: dir, environ: append(environOf(tb, dir),
		"SV="+address, "SV_URL="+address, "SV_TOKEN="+i.Harbour.Tokens.Executor, "TOKEN="+i.Harbour.Tokens.Executor,
	)}
	started := f.execute(tb, "bash", "-ec", `curl -s --fail "$SV/api/workflows/meter-readings/start/" `+
		`-H "Authorization: Bearer $TOKEN" -H 'Prefer: wait=20' -H 'Content-Type: text/csv' `+
		`-H 'X-Filename: meter-readings.csv' --data-binary @meter-readings.csv`)
	var run struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(started), &run); err != nil {
		tb.Fatalf("start a run: %v: %s", err, started)
	}
	f.environ = append(f.environ, "RUN="+run.ID)
	return f
}

// environOf is plainEnviron for a program that finds the Python client as well.
func environOf(tb testing.TB, dir string) []string {
	tb.Helper()
	return plainEnviron(dir, "PYTHONPATH="+pythonSources(tb), "PYTHONDONTWRITEBYTECODE=1")
}

// execute runs a command and returns what it has printed on standard output.
func (f follower) execute(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	var complaints strings.Builder
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = f.dir, f.environ, &complaints
	printed, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s%s", cmd, err, printed, &complaints)
	}
	return string(printed)
}

// goProgram is around the statements that a page shows.
const goProgram = `package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/simplevalidations/simplevalidations/core/client"
)

func main() {
	service, err := client.New(os.Getenv("SV_URL"), client.WithToken(os.Getenv("SV_TOKEN")))
	if err != nil {
		log.Fatal(err)
	}
	if err := follow(context.Background(), service, os.Getenv("RUN")); err != nil {
		log.Fatal(err)
	}
	fmt.Print()
	_ = bytes.MinRead
}

func follow(ctx context.Context, service *client.Client, id string) error {
	_ = id
`

// pythonProgram is before the statements that a page shows.
const pythonProgram = `import os

from simplevalidations import Client

client = Client(os.environ["SV_URL"], os.environ["SV_TOKEN"])
run_id = os.environ["RUN"]
`

// typeScriptProgram is before the statements that a page shows.
const typeScriptProgram = `import { Client } from "@simplevalidations/client";
import { documentFromFile } from "@simplevalidations/client/node";

const client = new Client(process.env.SV_URL ?? "", { token: process.env.SV_TOKEN ?? "" });
const id = process.env.RUN ?? "";
`

// buildGo builds a program from one file, in the module of the repository, and returns the path of the program.
func buildGo(tb testing.TB, file string) string {
	tb.Helper()
	built := strings.TrimSuffix(file, ".go")
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-ldflags=-s -w", "-o", built, file)
	cmd.Dir = repository
	if output, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, output)
	}
	return built
}

// compileTabs compiles the tabs that are in TypeScript.
func compileTabs(tb testing.TB, groups []tabGroup) coretest.Folder {
	tb.Helper()
	programs := make(map[string]string)
	for _, group := range groups {
		for _, b := range ofLanguage(group.tabs, "ts") {
			programs[programName(b)] = typeScriptProgram + b.code
		}
	}
	return clients.CompileTypeScript(tb, programs)
}

// follow executes a tab.
func (f follower) follow(tb testing.TB, compiled coretest.Folder, b block) string {
	tb.Helper()
	switch b.language {
	case "sh":
		return f.execute(tb, "bash", "-ec", b.code)
	case "go":
		file := filepath.Join(f.dir, "follow.go")
		writeFiles(tb, f.dir, map[string][]byte{"follow.go": []byte(goProgram + b.code + "\treturn nil\n}\n")})
		return f.execute(tb, buildGo(tb, file))
	case "python":
		return f.execute(tb, "python3", "-c", pythonProgram+b.code)
	case "ts":
		return f.execute(tb, "node", programPath(compiled, b))
	default:
		tb.Fatalf("%s is in %s, which nothing here executes", b, b.language)
		return ""
	}
}

// TestTabs executes every tab of a page and compares what it prints with what the page shows behind its group.
func TestTabs(t *testing.T) {
	t.Parallel()
	installation := program.Install(t)
	address := program.Serve(t, installation.Settings).URL()
	groups := tabGroupsOf(readBlocks(t))
	if len(groups) == 0 {
		t.Error("no page has tabs that are executed")
	}
	compiled := compileTabs(t, groups)
	for _, group := range groups {
		for _, b := range group.tabs {
			t.Run(b.String()+"/"+b.tab, func(t *testing.T) {
				t.Parallel()
				printed := setupFollower(t, installation, address).follow(t, compiled, b)
				if err := newTranscript().compare(group.shown, printed); err != nil {
					t.Errorf("%s%v", b.code, err)
				}
			})
		}
	}
}
