package cmd

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

func (p Program) idempotencyCommand() *cobra.Command {
	group := &cobra.Command{Use: "idempotency", Short: "Inspect and release idempotency keys"}
	group.AddCommand(p.listKeysCommand(), p.releaseKeyCommand(), p.explainCommand())
	return group
}

// tenant is an organization that a command works on.
type tenant struct {
	opened

	who core.Principal
}

// withTenant runs a command on an organization that is named by --org.
func (p Program) withTenant(ctx context.Context, slug string, do func(context.Context, tenant) error) error {
	return p.withProject(ctx, func(ctx context.Context, in opened) error {
		org, err := in.Users.Organization(ctx, slug)
		if err != nil {
			return err
		}
		return do(ctx, tenant{in, core.Principal{OrgID: org.ID, OrgSlug: org.Slug, Role: api.RoleOwner}})
	})
}

// keyListLimit is how many keys are listed unless --limit says otherwise.
const keyListLimit = 1000

func (p Program) listKeysCommand() *cobra.Command {
	var org string
	var limit int
	var filter admin.EntryFilter
	command := &cobra.Command{
		Use: "list [ID] --org SLUG", Args: cobra.MaximumNArgs(1),
		Short: "List an organization's keys, newest first, or show the one with the id and its timeline",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFilter(filter); err != nil {
				return err
			}
			if limit < 0 {
				return &config.UsageError{Reason: "--limit must be at least 0, which lists all keys"}
			}
			list := func(ctx context.Context, of tenant) error {
				return p.listKeys(ctx, of.Inspector, of.who.OrgID, filter, limit)
			}
			if len(args) > 0 {
				id, err := parseID(args[0])
				if err != nil {
					return err
				}
				if filter != (admin.EntryFilter{}) {
					return &config.UsageError{Reason: "an id leaves nothing to filter"}
				}
				list = func(ctx context.Context, of tenant) error { return p.showKey(ctx, of, id) }
			}
			return p.withTenant(cmd.Context(), org, list)
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	command.Flags().StringVar(&filter.Key, "key", "", "only this key")
	command.Flags().StringVar(&filter.Search, "q", "", "only keys that contain this text")
	command.Flags().StringVar(&filter.State, "state", "", "only in_progress, abandoned, dead, finished or expired keys")
	command.Flags().IntVar(&limit, "limit", keyListLimit, "maximum number of keys, 0 for all")
	requireFlags(command, "org")
	return command
}

// listKeys prints page after page up to the limit, and says on standard error when there is more.
func (p Program) listKeys(
	ctx context.Context, inspector *admin.Inspector, orgID uuid.UUID, filter admin.EntryFilter, limit int,
) error {
	rows := [][]string{{"ID", "STATE", "ENDPOINT", "KEY", "REPLAYS", "EXPIRES"}}
	cursor := core.Cursor{Size: core.MaxPageSize}
	listed, more := 0, true
	for more && (limit == 0 || listed < limit) {
		if limit > 0 {
			cursor.Size = min(core.MaxPageSize, limit-listed)
		}
		page, err := inspector.List(ctx, orgID, filter, cursor)
		if err != nil {
			return err
		}
		more = len(page.Found) > cursor.Size || page.Stopped != uuid.Nil
		for _, e := range page.Found[:min(len(page.Found), cursor.Size)] {
			rows = append(rows, []string{
				e.ID.String(), string(e.State), string(e.Endpoint), e.Key, strconv.FormatInt(e.Replays, 10),
				api.At(e.ExpiresAt).String(),
			})
			cursor.ID = e.ID
			listed++
		}
		// A search that finds little goes on where it has stopped.
		if page.Stopped != uuid.Nil {
			cursor.ID = page.Stopped
		}
	}
	err := cli.WriteTable(p.Stdout, rows...)
	if more {
		_, moreErr := fmt.Fprintf(p.Stderr, "there are more keys than these %d; --limit 0 lists all\n", listed)
		err = errors.Join(err, moreErr)
	}
	return err
}

// checkFilter refuses a misspelt state, which would look as if there were no such keys.
func checkFilter(filter any) error {
	fields, err := core.NewValidator().Fields(filter)
	if err != nil || fields == nil {
		return err
	}
	return &config.UsageError{Reason: "--" + strings.TrimPrefix(fields[0].Pointer, "/") + " " + fields[0].Detail}
}

// onOne is a command on one thing of an organization that is named by --org; the argument is the thing's id.
func (p Program) onOne(
	use, short string, do func(context.Context, tenant, uuid.UUID) error,
) *cobra.Command {
	var org string
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			return p.withTenant(cmd.Context(), org, func(ctx context.Context, of tenant) error {
				return do(ctx, of, id)
			})
		},
	}
	command.Flags().StringVar(&org, "org", "", "the organization's slug")
	requireFlags(command, "org")
	return command
}

func (p Program) showKey(ctx context.Context, of tenant, id uuid.UUID) error {
	entry, err := of.Inspector.Find(ctx, of.who.OrgID, id)
	if err != nil {
		return err
	}
	rows := [][]string{
		{"key", entry.Key}, {"endpoint", string(entry.Endpoint)}, {"state", string(entry.State)},
	}
	if entry.RunID != nil {
		rows = append(rows, []string{"run", entry.RunID.String()})
	}
	if entry.LastError != "" {
		rows = append(rows, []string{"last error", entry.LastError})
	}
	for _, event := range entry.Timeline() {
		rows = append(rows, []string{event.At.String(), event.Event, event.Detail})
	}
	return cli.WriteTable(p.Stdout, rows...)
}

func (p Program) releaseKeyCommand() *cobra.Command {
	var reason string
	command := p.onOne("release ID --org SLUG --reason TEXT", "Free a key whose request was abandoned",
		func(ctx context.Context, of tenant, id uuid.UUID) error {
			return report(p.Stdout, of.Inspector.Release(ctx, of.who, id, reason), "released %s\n", id)
		})
	command.Flags().StringVar(&reason, "reason", "", "why the key is released")
	command.PreRunE = func(*cobra.Command, []string) error {
		if reason == "" {
			return &config.UsageError{Reason: "give a reason with --reason: the audit log keeps it"}
		}
		return nil
	}
	return command
}

// explained is what explain is asked.
type explained struct {
	file, org, workflow, mediaType, filename, version string
}

func (p Program) explainCommand() *cobra.Command {
	var request explained
	command := &cobra.Command{
		Use:   "explain FILE --org SLUG --workflow W",
		Short: "Print the fingerprint of a start with FILE as its body, and the fingerprint's parts",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read the document: %w", err)
			}
			request.file = args[0]
			if !cmd.Flags().Changed("filename") {
				request.filename = filepath.Base(args[0])
			}
			return p.withTenant(cmd.Context(), request.org,
				func(ctx context.Context, of tenant) error {
					return p.explain(ctx, of, request, content)
				})
		},
	}
	command.Flags().StringVar(&request.org, "org", "", "the organization's slug")
	command.Flags().StringVarP(&request.workflow, "workflow", "w", "", "the workflow's id or slug")
	command.Flags().StringVar(&request.mediaType, "content-type", "",
		"the Content-Type to be sent (default: by the file's extension)")
	command.Flags().StringVar(&request.filename, "filename", "",
		`the X-Filename to be sent, "" for none (default: the file's name)`)
	command.Flags().StringVar(&request.version, "version", "", "the ?version= to be sent")
	requireFlags(command, "org", "workflow")
	return command
}

func (p Program) explain(
	ctx context.Context, of tenant, asked explained, content []byte,
) error {
	workflow, err := of.Workflows.Find(ctx, of.who.OrgID, asked.workflow, 0)
	if err != nil {
		return err
	}
	if asked.mediaType == "" {
		accepts := workflow.Definition.Accepts
		mediaType, known := mediatype.OfFile(asked.file, accepts)
		if !known {
			return &config.UsageError{Reason: fmt.Sprintf(
				"%s seems to have another type than the workflow accepts (%s); if not, set --content-type",
				asked.file, strings.Join(accepts, ", "))}
		}
		// What a workflow takes has no part in a fingerprint, unless the name says nothing.
		if types := mediatype.OfName(asked.file); len(types) > 0 {
			mediaType = types[0]
		}
		asked.mediaType = mediaType
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", asked.mediaType)
	request.Header.Set("X-Filename", asked.filename)
	limits := body.DefaultLimits(of.settings.MaxBodyBytes)
	document, err := body.Read(request, limits, new(validations.Intake))
	if err != nil {
		return err
	}
	fingerprint := start.Request{
		Endpoint: start.Endpoint, Key: idempotency.Key{Given: true},
		Caller:   idempotency.Caller{Method: http.MethodPost},
		Workflow: validations.WorkflowRef{ID: workflow.ID}, Body: document,
		Version: start.PinnedVersion{Text: asked.version, Given: asked.version != ""},
	}.Fingerprint()
	return cli.WriteTable(p.Stdout,
		[]string{"fingerprint", hex.EncodeToString(fingerprint.Sum[:])},
		[]string{" version", strconv.Itoa(int(fingerprint.Version))},
		[]string{
			" workflow", hex.EncodeToString(fingerprint.Target[:]),
			fmt.Sprintf("workflow %s, version %q", workflow.ID, asked.version),
		},
		[]string{" content", hex.EncodeToString(fingerprint.Content[:]), document.FingerprintMediaType},
		[]string{" options", hex.EncodeToString(fingerprint.Options[:]), fmt.Sprint(document.Options)})
}

func requireFlags(command *cobra.Command, names ...string) {
	for _, name := range names {
		_ = command.MarkFlagRequired(name) // The flag is there: it was defined above.
	}
}

func parseID(text string) (uuid.UUID, error) {
	id, ok := core.ParseID(text)
	if !ok {
		return uuid.Nil, &config.UsageError{Reason: text + " is not a key's id; idempotency list shows them"}
	}
	return id, nil
}
