package cmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

const (
	// lostBatch is how many runs are looked up at once.
	lostBatch = 1000
	// longestLogLine bounds a line of a log. A longer one is an error, and no part of it is skipped silently.
	longestLogLine = 1 << 20
)

// acknowledged is a run in the log whose start was answered 201.
type acknowledged struct {
	Time    time.Time `json:"time"`
	Org     string    `json:"org"`
	Outcome string    `json:"outcome"`
	KeyHash string    `json:"key_hash"`
	Run     uuid.UUID `json:"run"`
}

// lostRunsCommand compares the runs that were acknowledged to clients with a database that was restored to an earlier
// time.
func (p Program) lostRunsCommand() *cobra.Command {
	var logs []string
	var keys, org string
	var documents, adopt bool
	command := &cobra.Command{
		Use:   "lost --log FILE... | --keys FILE --org SLUG | --documents",
		Short: "After a restore, list the runs that clients know about but that are gone",
		Long: "After a restore to an earlier time, list the runs that clients know about but that are no longer in\n" +
			"the database. They are taken from the log of the service (SV_LOG_FORMAT=json), or from a list of the\n" +
			"keys of the clients' requests, one per line. A file named - is standard input.\n\n" +
			"With --documents, list the runs whose documents are no longer in the object store (SV_CONTENT_URL).",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case documents && len(logs) == 0 && keys == "" && org == "":
				return p.withBackend(cmd.Context(), func(ctx context.Context, _ config.Settings, b *backend) error {
					return p.listLostDocuments(ctx, b, adopt)
				})
			case documents || adopt:
			case len(logs) > 0 && keys == "" && org == "":
				return p.withBackend(cmd.Context(), func(ctx context.Context, _ config.Settings, b *backend) error {
					return p.listLostRuns(ctx, b, logs)
				})
			case len(logs) == 0 && keys != "" && org != "":
				return p.withTenant(cmd.Context(), org, func(ctx context.Context, of tenant) error {
					return p.listLostKeys(ctx, of, keys)
				})
			}
			return &config.UsageError{Reason: "give either --log, or --keys and --org, or --documents"}
		},
	}
	command.Flags().StringArrayVar(&logs, "log", nil, "a log of the web processes; may be repeated")
	command.Flags().StringVar(&keys, "keys", "", "a file with idempotency keys of starts, one a line")
	command.Flags().StringVar(&org, "org", "", "the organization of the keys")
	command.Flags().BoolVar(&documents, "documents", false, "compare the documents with the object store")
	command.Flags().BoolVar(&adopt, "adopt", false,
		"with --documents, let this database delete from the store what it does not know")
	return command
}

func (p Program) listLostRuns(ctx context.Context, b *backend, logs []string) error {
	told := make(map[uuid.UUID]acknowledged)
	for _, name := range logs {
		if err := p.readLines(name, func(line []byte) { collect(told, line) }); err != nil {
			return err
		}
	}
	if len(told) == 0 {
		return &config.UsageError{
			Reason: "the log has no started run; the service writes such lines with SV_LOG_FORMAT=json",
		}
	}
	ordered := make([]acknowledged, 0, len(told))
	for _, one := range told {
		ordered = append(ordered, one)
	}
	slices.SortFunc(ordered, func(a, b acknowledged) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Run.String(), b.Run.String()))
	})
	rows := [][]string{{"TIME", "ORGANIZATION", "RUN", "KEY_HASH"}}
	for batch := range slices.Chunk(ordered, lostBatch) {
		known, err := knownRuns(ctx, b.db, batch)
		if err != nil {
			return err
		}
		for _, one := range batch {
			if !known[one.Run] {
				rows = append(rows, []string{api.At(one.Time).String(), one.Org, one.Run.String(), one.KeyHash})
			}
		}
	}
	return p.printLost(rows, core.Plural(len(told), "run"))
}

// collect adds the run of a line in the log, if it is one of a request that started a run or repeated such a start.
func collect(told map[uuid.UUID]acknowledged, line []byte) {
	var one acknowledged
	if json.Unmarshal(line, &one) != nil || one.Run == uuid.Nil {
		return // Other programs may write to the same journal.
	}
	if one.Outcome != "new" && one.Outcome != "replayed" {
		return
	}
	if before, known := told[one.Run]; !known || one.Time.Before(before.Time) {
		told[one.Run] = one
	}
}

func (p Program) listLostKeys(ctx context.Context, of tenant, name string) error {
	var keys []string
	if err := p.readLines(name, func(line []byte) {
		if key := strings.TrimSuffix(string(line), "\r"); key != "" {
			keys = append(keys, key)
		}
	}); err != nil {
		return err
	}
	known, err := knownKeys(ctx, of.db, of.who.OrgID, keys)
	if err != nil {
		return err
	}
	rows := [][]string{{"KEY"}}
	for _, key := range keys {
		if !known[key] {
			rows = append(rows, []string{key})
		}
	}
	return p.printLost(rows, core.Plural(len(keys), "key"))
}

// listLostDocuments compares all documents with the object store, which then belongs to this database if it is adopted.
func (p Program) listLostDocuments(ctx context.Context, b *backend, adopt bool) error {
	if b.objects == nil {
		return &config.UsageError{Reason: "SV_CONTENT_URL is not set: all documents are in the database"}
	}
	rows := [][]string{{"ORGANIZATION", "RUN"}}
	checked, err := b.objects.Missing(db.Unlimited(ctx), b.db, func(lost objects.Lost) {
		rows = append(rows, []string{lost.OrgSlug, lost.Run.String()})
	})
	if err == nil && adopt {
		err = b.objects.Adopt(ctx, b.db)
	}
	if err != nil {
		return err
	}
	return p.printLost(rows, core.Plural(checked, "document"))
}

// printLost prints what is gone, and on standard error how much of it.
func (p Program) printLost(rows [][]string, of string) error {
	if _, err := fmt.Fprintf(p.Stderr, "%d of %s are gone\n", len(rows)-1, of); err != nil {
		return fmt.Errorf("print how much is gone: %w", err)
	}
	if len(rows) == 1 {
		return nil
	}
	return cli.WriteTable(p.Stdout, rows...)
}

// readLines hands over each line of a file.
func (p Program) readLines(name string, use func(line []byte)) error {
	source := p.Stdin
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the operator names the file
		if err != nil {
			return &config.UsageError{Reason: err.Error()}
		}
		defer func() { _ = file.Close() }() // It was only read.
		source = file
	}
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, longestLogLine)
	for lines.Scan() {
		use(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
