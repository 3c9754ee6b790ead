package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
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

// fileWriter writes a checked file to a workflow and returns the version that has its content.
type fileWriter func(ctx context.Context, tx db.Tx) (Version, importOutcome, error)

// ImportOnce is the work of a request that imports a file.
func ImportOnce(principal core.Principal, file files.File, warnings []files.Fault) idempotency.Work {
	return writeOnce(principal, warnings, func(ctx context.Context, tx db.Tx) (Version, importOutcome, error) {
		return importFile(ctx, tx, principal.OrgID, file)
	})
}

// CreateFileOnce is the work of a request that creates a workflow from a file.
func CreateFileOnce(principal core.Principal, file files.File, warnings []files.Fault) idempotency.Work {
	return writeOnce(principal, warnings, func(ctx context.Context, tx db.Tx) (Version, importOutcome, error) {
		version, err := create(ctx, tx, principal.OrgID, draftOf(file))
		return version, importCreated, err
	})
}

// EditOnce is the work of a request that makes a file the next version of a workflow, unless the workflow was saved
// since the state that the file was made from. published joins the transaction.
func EditOnce(
	principal core.Principal, workflow Version, state string, file files.File, warnings []files.Fault,
	published func(ctx context.Context, tx db.Tx) error,
) idempotency.Work {
	return writeOnce(principal, warnings, func(ctx context.Context, tx db.Tx) (Version, importOutcome, error) {
		current, err := lockLatest(ctx, tx, workflow.OrgID, workflow.ID.String())
		if err != nil {
			return Version{}, "", err
		}
		if current.State() != state {
			saved := "The name or the description"
			if !strings.HasPrefix(state, strconv.Itoa(current.Number)+"-") {
				saved = fmt.Sprintf("Version %d", current.Number)
			}
			return Version{}, "", core.InvalidPayload(saved +
				" was saved in the meantime. Look at what has changed. Saving again replaces it with this text.",
			).Because(ErrEditedMeanwhile)
		}
		version, outcome, err := revise(ctx, tx, current, file)
		if err != nil {
			return Version{}, "", err
		}
		return version, outcome, published(ctx, tx)
	})
}

// writeOnce writes a file, audits what that has changed and renders the answer.
func writeOnce(principal core.Principal, warnings []files.Fault, write fileWriter) idempotency.Work {
	return func(ctx context.Context, tx db.GormTx) (idempotency.Response, error) {
		version, outcome, err := write(ctx, tx.Tx)
		if err != nil {
			return idempotency.Response{}, err
		}
		status := http.StatusOK
		if outcome == importCreated || outcome == importVersioned {
			status = http.StatusCreated
		}
		if outcome != importUnchanged {
			if err := audit(ctx, tx.Tx, principal, "workflow.import", version); err != nil {
				return idempotency.Response{}, err
			}
		}
		body := renderVersion(version, principal.OrgSlug)
		body.Warnings = fieldsOf(warnings)
		return respond(status, version, api.WorkflowImport{Outcome: string(outcome), Workflow: body})
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

// ErrEditedMeanwhile is the cause of the refusal of an edit whose workflow was saved in the meantime.
var ErrEditedMeanwhile = errors.New("the workflow was edited meanwhile")

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

// Saved reads from the answer to a saved file which workflow it was, and what to tell the visitor.
func Saved(answer idempotency.Response) (slug, notice string, err error) { //nolint:nonamedreturns // two texts
	var saved api.WorkflowImport
	if err := json.Unmarshal(answer.Body, &saved); err != nil {
		return "", "", fmt.Errorf("read what was saved: %w", err)
	}
	switch importOutcome(saved.Outcome) {
	case importCreated:
		notice = "Created " + saved.Workflow.Name + "."
	case importVersioned:
		notice = fmt.Sprintf("Saved version %d.", saved.Workflow.Version)
	case importRenamed:
		notice = "Saved the name and the description. The steps are the same, so there is no new version."
	case importUnchanged:
		notice = "Nothing was changed: the workflow is the same."
	}
	if n := len(saved.Workflow.Warnings); n > 0 {
		first := saved.Workflow.Warnings[0]
		notice += fmt.Sprintf(" %s, the first in line %d: %s. Edit the workflow to see all.",
			core.Plural(n, "warning"), first.Line, first.Detail)
	}
	return saved.Workflow.Slug, notice, nil
}

// draftOf returns the workflow to be created from a file. It is active, so that it can be used at once.
func draftOf(file files.File) Draft {
	return Draft{
		Slug: file.Slug, Name: file.Name, Description: file.Description, IsActive: true, Definition: file.Definition,
	}
}
