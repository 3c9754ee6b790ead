package workflows

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// importOutcome is the effect of an import or an edit.
type importOutcome string

const (
	importCreated   importOutcome = "created"
	importVersioned importOutcome = "version_added"
	importRenamed   importOutcome = "renamed"
	importUnchanged importOutcome = "unchanged"
)

// importBody is the answer to an import.
type importBody struct {
	Outcome  importOutcome `json:"outcome"`
	Workflow workflowBody  `json:"workflow"`
}

// fileWriter writes a checked file to a workflow and returns the version that has its content.
type fileWriter func(ctx context.Context, tx db.Tx) (Version, importOutcome, error)

// importOnce is the work of a request that imports a file.
func importOnce(principal core.Principal, file files.File, warnings []core.FieldError) idempotency.Work {
	return writeOnce(principal, warnings, func(ctx context.Context, tx db.Tx) (Version, importOutcome, error) {
		return importFile(ctx, tx, principal.OrgID, file)
	})
}

// createFileOnce is the work of a request that creates a workflow from a file.
func createFileOnce(principal core.Principal, file files.File, warnings []core.FieldError) idempotency.Work {
	return writeOnce(principal, warnings, func(ctx context.Context, tx db.Tx) (Version, importOutcome, error) {
		version, err := create(ctx, tx, principal.OrgID, draftOf(file))
		return version, importCreated, err
	})
}

// editOnce is the work of a request that makes a file the next version of a workflow.
// The draft that was published is deleted.
func editOnce(
	principal core.Principal, workflow Version, draft editorDraft, file files.File, warnings []core.FieldError,
) idempotency.Work {
	return writeOnce(principal, warnings, func(ctx context.Context, tx db.Tx) (Version, importOutcome, error) {
		version, outcome, err := edit(ctx, tx, workflow, draft.Base, file)
		if err != nil {
			return Version{}, "", err
		}
		return version, outcome, dropDraft(ctx, tx, workflow.OrgID, workflow.ID, draft.Revision)
	})
}

func writeOnce(principal core.Principal, warnings []core.FieldError, write fileWriter) idempotency.Work {
	return func(ctx context.Context, tx db.Tx) (idempotency.Response, error) {
		version, outcome, err := write(ctx, tx)
		if err != nil {
			return idempotency.Response{}, err
		}
		return announceImport(ctx, tx, principal, version, outcome, warnings)
	}
}

// importFile imports a checked file: as a new workflow where its slug is free, otherwise as the next version of the
// workflow that has the slug, if the file differs from it.
func importFile(ctx context.Context, tx db.Tx, orgID uuid.UUID, file files.File) (Version, importOutcome, error) {
	created, err := create(ctx, tx, orgID, draftOf(file))
	if err == nil {
		return created, importCreated, nil
	}
	if !errors.Is(err, errSlugTaken) {
		return Version{}, "", err
	}
	current, err := lockLatest(ctx, tx, orgID, file.Slug)
	if err != nil {
		return Version{}, "", err
	}
	return revise(ctx, tx, current, file)
}

// errEditedMeanwhile is the cause of the refusal of an edit whose base is no longer the workflow's state.
var errEditedMeanwhile = errors.New("the workflow was edited meanwhile")

// edit makes a file the next version of a workflow, unless the workflow was saved since the base of the edit.
func edit(
	ctx context.Context, tx db.Tx, workflow Version, base string, file files.File,
) (Version, importOutcome, error) {
	current, err := lockLatest(ctx, tx, workflow.OrgID, workflow.ID.String())
	if err != nil {
		return Version{}, "", err
	}
	if baseOf(current) != base {
		saved := "The name or the description"
		if !strings.HasPrefix(base, strconv.Itoa(current.Number)+"-") {
			saved = fmt.Sprintf("Version %d", current.Number)
		}
		return Version{}, "", core.InvalidPayload(saved +
			" was saved in the meantime. Look at what has changed. Saving again replaces it with this text.",
		).Because(errEditedMeanwhile)
	}
	return revise(ctx, tx, current, file)
}

// revise changes a locked workflow to the content of a file.
func revise(ctx context.Context, tx db.Tx, current Version, file files.File) (Version, importOutcome, error) {
	outcome := importUnchanged
	described, err := change{Name: &file.Name, Description: &file.Description}.apply(ctx, tx, &current.Workflow)
	if err != nil {
		return Version{}, "", err
	}
	if described {
		outcome = importRenamed
	}
	same, err := sameMeaning(current.Definition, file.Definition)
	if err != nil || same {
		return current, outcome, err
	}
	current, err = createVersion(ctx, tx, current, file.Definition)
	return current, importVersioned, err
}

// sameMeaning reports whether two definitions are equal, in whatever order their members are written.
func sameMeaning(a, b validations.Definition) (bool, error) {
	var digests [2]idempotency.Digest
	for i, definition := range []validations.Definition{a, b} {
		body, _, err := definition.Encode()
		if err != nil {
			return false, err
		}
		if digests[i], err = idempotency.DigestJSON(body, files.MaxDepth); err != nil {
			return false, fmt.Errorf("compare definitions: %w", err)
		}
	}
	return digests[0] == digests[1], nil
}

// announceImport audits what the import has changed and renders the answer.
func announceImport(
	ctx context.Context, tx db.Tx, principal core.Principal, version Version, outcome importOutcome,
	warnings []core.FieldError,
) (idempotency.Response, error) {
	status := http.StatusOK
	if outcome == importCreated || outcome == importVersioned {
		status = http.StatusCreated
	}
	if outcome != importUnchanged {
		if err := audit(ctx, tx, principal, "workflow.import", version); err != nil {
			return idempotency.Response{}, err
		}
	}
	body := renderVersion(version, principal.OrgSlug)
	body.Warnings = warnings
	return respond(status, version, importBody{outcome, body})
}

// fileOf returns a version of a workflow as a file.
func fileOf(v Version) files.File {
	return files.File{
		SchemaVersion: files.Version, Slug: v.Slug, Name: v.Name, Description: v.Description, Definition: v.Definition,
	}
}

// draftOf returns the workflow to be created from a file. It is active, so that it can be used at once.
func draftOf(file files.File) Draft {
	return Draft{
		Slug: file.Slug, Name: file.Name, Description: file.Description, IsActive: true, Definition: file.Definition,
	}
}
