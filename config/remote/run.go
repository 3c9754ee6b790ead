package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// running is one use of the command run.
type running struct {
	connection
	command  *cobra.Command
	client   *client.Client
	output   formats.Output
	workflow api.Workflow

	workflowName, mediaType string
	key, keyPrefix          string
	version                 int
	meta                    map[string]string
	noWait, resume          bool
	timeout                 time.Duration
	progress                *progress
}

func runCommand(s Env) *cobra.Command {
	r := &running{connection: connection{Env: s}}
	r.command = &cobra.Command{
		Use: "run FILE... --workflow WORKFLOW", Short: "Validate documents with a service and show the findings",
		Long: `Validate documents with a service and show the findings. FILE may be - for standard input.

Each start carries an idempotency key that is stored in a file before the request is sent, so that at most one run is
started for a document however often the network fails. If the command itself was killed, the same command with
--resume continues. In GitHub Actions and GitLab CI the key is derived from the job, the workflow and the document: a
step that is retried in a job finds its run, and a new job starts a new one. --key-prefix replaces the job: the same
prefix, workflow and document are one run, wherever and however often the command is executed.

Interrupting the command does not cancel the run.

Exit codes: 0 passed, 1 findings at or above --fail-on, 2 wrong use or a refused document, 3 a run that did not end or
a service that is busy, 4 stopped waiting while the run continues, 5 not authenticated or not allowed, 6 quota or rate
limit, 7 no answer from the service, 130 interrupted.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	flags := r.command.Flags()
	flags.StringVarP(&r.workflowName, "workflow", "w", "", "the id or the slug of the workflow")
	flags.IntVar(&r.version, "workflow-version", 0, "the version of the workflow (default: the latest)")
	flags.StringVar(&r.key, "key", "", "the idempotency key, for one document (default: generated)")
	flags.StringVar(&r.keyPrefix, "key-prefix", "",
		"derive each key from this, the workflow and the document, so that a retry finds the run")
	flags.StringVar(&r.mediaType, "content-type", "",
		"the media type of the documents (default: by file extension)")
	flags.StringToStringVar(&r.meta, "meta", nil, "metadata of the documents, as name=value; may be repeated")
	flags.BoolVar(&r.noWait, "no-wait", false, "only start the runs, and print their ids")
	flags.BoolVar(&r.resume, "resume", false, "resume an unfinished start of the same command")
	flags.DurationVar(&r.timeout, "timeout", 0, "how long to wait for each run (default: until it ends)")
	r.bind(r.command)
	r.output.Bind(r.command)
	return r.command
}

func (r *running) run(ctx context.Context, names []string) error {
	if err := r.check(names); err != nil {
		return err
	}
	r.progress = newProgress(r.command.ErrOrStderr())
	defer r.progress.close()
	var err error
	if r.client, err = r.authorized(client.WithOnRetry(r.progress.retry)); err != nil {
		return err
	}
	if r.workflow, err = r.client.Workflow(ctx, r.workflowName, r.version); err != nil {
		return failure(ctx, err)
	}
	for _, name := range names {
		if _, err := r.typeOf(name); err != nil {
			return err
		}
	}
	all, err := r.documents(ctx, names)
	r.progress.close()
	switch {
	case r.noWait || len(all) == 0:
		return err
	case err != nil:
		// The results of the documents before it were charged, so they are shown all the same.
		return errors.Join(err, report(r.Env, r.command, &r.output, r.workflow.Slug, all))
	}
	return conclude(r.Env, r.command, &r.output, r.workflow.Slug, all)
}

// documents validates one document after the other, up to the first one that cannot be validated. A document that takes
// too long does not stop the ones after it.
func (r *running) documents(ctx context.Context, names []string) ([]formats.Document, error) {
	var all []formats.Document
	var slow error
	for i, name := range names {
		shown, err := r.document(ctx, name)
		exit, _ := errors.AsType[*cli.ExitError](err)
		switch behind := names[i+1:]; {
		case err == nil:
			all = append(all, shown)
		case len(names) == 1:
			return nil, failure(ctx, err)
		case exit != nil && exit.Code == cli.ExitGoesOn:
			r.progress.say("%s: %s", name, exit.Reason)
			slow = &cli.ExitError{Code: cli.ExitGoesOn}
		case len(behind) > 0:
			return all, alsoSaying(failure(ctx, err), fmt.Sprintf("failed at %s; not sent: %s",
				name, strings.Join(behind, ", ")))
		default:
			return all, alsoSaying(failure(ctx, err), "failed at "+name)
		}
	}
	return all, slow
}

func (r *running) check(names []string) error {
	switch {
	case r.workflowName == "":
		return misuse("name the workflow with --workflow")
	case r.key != "" && len(names) > 1:
		return misuse("--key is for one document, not %d; use --key-prefix for several", len(names))
	case r.key != "" && r.keyPrefix != "":
		return misuse("give --key or --key-prefix, not both")
	case r.version < 0 || r.timeout < 0:
		return misuse("--workflow-version and --timeout are 0 or more")
	}
	if err := errors.Join(r.output.Check(), cli.CheckSources(names)); err != nil {
		return misuse("%v", err)
	}
	return nil
}

// document validates one document.
func (r *running) document(ctx context.Context, name string) (formats.Document, error) {
	source, err := cli.OpenSource(r.command.InOrStdin(), name, engines.DefaultLimits().MaxTableBytes)
	if err != nil {
		return formats.Document{}, misuse("%v", err)
	}
	shown, err := r.validate(ctx, source)
	return shown, errors.Join(err, source.Close())
}

func (r *running) validate(ctx context.Context, source cli.Source) (formats.Document, error) {
	mediaType, err := r.typeOf(source.Name)
	if err != nil {
		return formats.Document{}, err
	}
	request := client.StartRequest{
		Workflow: r.workflow.ID, Version: r.version, Filename: filepath.Base(source.Name), MediaType: mediaType,
		Content: io.NewSectionReader(source, 0, source.Size), OnUpload: r.progress.upload,
	}
	for name, value := range r.meta {
		if request.Metadata == nil {
			request.Metadata = make(map[string]any)
		}
		request.Metadata[name] = value
	}
	kept, err := r.keep(source, &request)
	if err != nil {
		return formats.Document{}, err
	}
	r.progress.begin(source.Name, source.Size)
	started, err := r.client.Start(ctx, request)
	if err != nil {
		return formats.Document{}, r.notStarted(ctx, kept, err)
	}
	r.progress.say("%s  run %s  key %s", started.Run.WorkflowSlug, started.Run.ID, started.Key)
	if r.noWait {
		_, err := fmt.Fprintln(r.command.OutOrStdout(), started.Run.ID)
		return formats.Document{}, errors.Join(err, kept.forget())
	}
	return r.await(ctx, started.Run, source.Name, kept)
}

// await waits for the run and reads what it has found. From here on the run is known, and its key is not needed.
func (r *running) await(ctx context.Context, run api.Run, name string, kept keptKey) (formats.Document, error) {
	ended, err := awaitRun(ctx, r.client, run.ID, r.timeout, func(e client.Event) {
		r.progress.event(e, len(r.workflow.Steps))
	})
	if exit, stopped := errors.AsType[*cli.ExitError](err); stopped {
		switch exit.Code {
		case cli.ExitInterrupted:
			return formats.Document{}, err
		case cli.ExitGoesOn:
			return formats.Document{}, errors.Join(kept.forget(), err)
		default:
			return formats.Document{}, alsoSaying(err, "the run was started: "+watch(run.ID))
		}
	}
	shown, err := document(ctx, r.client, ended, name)
	if err != nil {
		return shown, err
	}
	return shown, kept.forget()
}

// awaitRun waits for the end of a run, up to the timeout if that is not 0. Its errors have their exit codes.
func awaitRun(
	ctx context.Context, service *client.Client, id string, timeout time.Duration, told func(client.Event),
) (api.Run, error) {
	waiting, stop := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		waiting, stop = context.WithTimeout(ctx, timeout)
	}
	defer stop()
	ended, err := service.Wait(waiting, id, told)
	switch {
	case ctx.Err() != nil:
		return ended, &cli.ExitError{Code: cli.ExitInterrupted, Reason: "interrupted; the run continues: " + watch(id)}
	case errors.Is(err, context.DeadlineExceeded):
		return ended, &cli.ExitError{Code: cli.ExitGoesOn, Reason: "stopped waiting; the run continues: " + watch(id)}
	}
	return ended, failure(ctx, err)
}

func watch(id string) string { return "simplevalidations runs watch " + formats.Clean(id) }

// notStarted keeps the key of a start that may have happened, and says how to resume it.
func (r *running) notStarted(ctx context.Context, kept keptKey, err error) error {
	ended := failure(ctx, err)
	refused, isRefused := errors.AsType[*client.Error](err)
	if isRefused && !isUnanswered(err) && !refused.Retryable {
		return errors.Join(ended, kept.forget())
	}
	if kept.file == "" {
		return ended
	}
	return alsoSaying(ended, "the same command with --resume continues with key "+client.KeyOf(err))
}

// typeOf is the media type that is declared for the document, after a check that the workflow takes it. It is empty
// where the file's name tells the type: the service finds it there, as it does for any other client, so that a start
// which another client has begun can be gone on with.
func (r *running) typeOf(name string) (string, error) {
	accepts := strings.Join(r.workflow.Accepts, ", ")
	if r.mediaType != "" {
		base, _, err := mime.ParseMediaType(r.mediaType)
		if _, taken := mediatype.Choose(r.workflow.Accepts, []string{base}); err != nil || !taken {
			return "", misuse("the workflow does not accept %s; it accepts %s", r.mediaType, formats.Clean(accepts))
		}
		return r.mediaType, nil
	}
	mediaType, known := mediatype.OfFile(name, r.workflow.Accepts)
	if !known {
		return "", misuse("%s seems to have another type than the workflow accepts (%s); if not, set --content-type",
			name, formats.Clean(accepts))
	}
	if len(mediatype.OfName(name)) > 0 {
		return "", nil
	}
	return mediaType, nil
}

// options are the flags that change what is started, as one text.
func (r *running) options(name, mediaType string) (string, error) {
	text, err := json.Marshal([]any{r.workflow.ID, r.version, name, mediaType, r.meta})
	if err != nil {
		return "", fmt.Errorf("write the options: %w", err)
	}
	return string(text), nil
}
