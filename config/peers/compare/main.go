// Command compare checks the peers with idemcheck and writes the table of the guide to idemcheck:
//
//	go run -C config/peers ./compare [-only fiber-v3,nestjs] [-table]
//
// It needs bin/simplevalidations (make build). The JSON report of each peer is left in build/peers/NAME.json, and -table
// only reads those that are there.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v4"
)

// peer is one of peers.yaml.
type peer struct {
	Name, Language, Library, Version, Storage, Header, Documentation, Setup string

	Promises map[string]string
}

// topics are the columns: a promise, and the cases that it is about.
var topics = []struct {
	promise, title string
	cases          []string
}{
	{"replay", "Retries", []string{
		"replay/effect", "replay/connection", "lost/request", "lost/answer", "lost/reset", "lost/half-", "lost/late",
		"body/chunked",
	}},
	{"replay", "Same answer", []string{"replay/body", "replay/status"}},
	{"in_flight", "At once", []string{"flight/effect", "flight/answer", "flight/early", "race/2", "race/10", "lost/duplicate", "lost/client-gone", "lost/storm"}},
	{"mismatch", "Another body", []string{"mismatch/body", "mismatch/kept", "body/large", "race/mixed"}},
	{"tenants", "Tenants", []string{"tenant/"}},
	{"restart", "Restart", []string{"replay/restart"}},
	{"crash", "Crash in flight", []string{"restart/in-flight"}},
}

// result is one of a report of idemcheck.
type result struct {
	Case                   struct{ Name string }
	Level, Outcome, Reason string
}

func main() {
	only := flag.String("only", "", "names, with commas; all without")
	table := flag.Bool("table", false, "check nothing, and write the table of the reports that are there")
	port := flag.Int("port", 9300, "the first port; each peer has ten")
	flag.Parse()
	if err := compare(strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }), *port, *table); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(only []string, port int, table bool) error {
	text, err := os.ReadFile("peers.yaml")
	if err != nil {
		return err
	}
	var file struct{ Peers []peer }
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	if err := os.Chdir("../.."); err != nil {
		return err
	}
	head := "| Implementation | Language, storage |"
	for _, topic := range topics {
		head += " " + topic.title + " |"
	}
	fmt.Printf("%s\n|%s\n", head, strings.Repeat(" --- |", len(topics)+2))
	for i, p := range file.Peers {
		if len(only) > 0 && !slices.Contains(only, p.Name) {
			continue
		}
		if !table {
			if err := p.check(port + 10*i); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		results, err := p.results()
		if err != nil {
			return err
		}
		fmt.Printf("| `%s` %s | %s, %s |", p.Name, p.Version, p.Language, p.Storage)
		for _, topic := range topics {
			fmt.Printf(" %s |", verdict(p.Promises[topic.promise] != "", topic.cases, results))
		}
		fmt.Println()
	}
	return nil
}

// check starts the peer and runs idemcheck on it.
func (p peer) check(port int) error {
	folder, err := filepath.Abs(filepath.Join("build", "peers", p.Name+"-"+strconv.Itoa(port)))
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(folder), os.RemoveAll(p.report())); err != nil {
		return err
	}
	start := exec.Command("config/peers/start", p.Name, strconv.Itoa(port))
	start.Stderr = os.Stderr
	if err := start.Run(); err != nil {
		return err
	}
	defer func() {
		if id, err := os.ReadFile(filepath.Join(folder, "pid")); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(id))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended by itself.
			}
		}
	}()
	cmd := exec.Command("bin/simplevalidations", "idemcheck", "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		"--request", "config/peers/order.yaml", "--profile", "ietf", "--jobs", "4", "--output", "json="+p.report())
	cmd.Env = append(os.Environ(), "HEADER="+p.Header, "NAME="+p.Name, "PORT="+strconv.Itoa(port), "PEER="+folder)
	cmd.Stderr = os.Stderr
	_ = cmd.Run() // Its exit code is a verdict, and without a report there is none.
	return nil
}

func (p peer) report() string { return filepath.Join("build", "peers", p.Name+".json") }

func (p peer) results() ([]result, error) {
	text, err := os.ReadFile(p.report())
	if err != nil {
		return nil, err
	}
	var read struct{ Results []result }
	err = json.Unmarshal(text, &read)
	return read.Results, err
}

// shownCases is how many cases a cell names.
const shownCases = 2

// verdict is a cell: whether what must hold does. What is not promised is nothing to hold against anybody.
func verdict(promised bool, cases []string, results []result) string {
	var broken []string
	judged := 0
	for _, r := range results {
		if !slices.ContainsFunc(cases, func(name string) bool { return strings.HasPrefix(r.Case.Name, name) }) {
			continue
		}
		// Of equal answers and other bodies the draft says "should"; here a column says what was asked.
		if r.Level == "differs" || r.Outcome == "unjudged" {
			continue
		}
		judged++
		if r.Outcome == "failed" {
			broken = append(broken, r.Case.Name)
		}
	}
	switch {
	case judged == 0:
		return "not judged"
	case len(broken) == 0:
		return "holds"
	case !promised:
		return "not promised"
	default:
		if more := len(broken) - shownCases; more > 0 {
			broken = append(broken[:shownCases], fmt.Sprintf("and %d more", more))
		}
		return "**fails**: " + strings.Join(broken, ", ")
	}
}
