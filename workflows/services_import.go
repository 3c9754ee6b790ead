package workflows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// importOutcome is what an import has come to.
type importOutcome string

const (
	importCreated   importOutcome = "created"
	importVersioned importOutcome = "version_added"
	importRenamed   importOutcome = "renamed"
	importUnchanged importOutcome = "unchanged"
)

// importFile brings a checked file in: as a new workflow where its slug is free, else as the next version of the
// workflow that has the slug, if the file says anything new.
func importFile(ctx context.Context, tx db.Tx, orgID uuid.UUID, file File) (Version, importOutcome, error) {
	created, err := create(ctx, tx, orgID, file.draft())
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

// errEditedMeanwhile is the cause of the refusal of a text that began as something else than what there is now.
var errEditedMeanwhile = errors.New("the workflow was edited meanwhile")

// edit makes a file the next version of a workflow, unless somebody else has saved one since the version that the file
// began as.
func edit(ctx context.Context, tx db.Tx, workflow Version, began string, file File) (Version, importOutcome, error) {
	current, err := lockLatest(ctx, tx, workflow.OrgID, workflow.ID.String())
	if err != nil {
		return Version{}, "", err
	}
	if beginningOf(current) != began {
		saved := "The name or the description"
		if !strings.HasPrefix(began, strconv.Itoa(current.Number)+"-") {
			saved = fmt.Sprintf("Version %d", current.Number)
		}
		return Version{}, "", core.InvalidPayload(saved +
			" was saved meanwhile. Look at what has changed. Saving again puts this text on top of it.",
		).Because(errEditedMeanwhile)
	}
	return revise(ctx, tx, current, file)
}

// revise brings what a file says to a locked workflow.
func revise(ctx context.Context, tx db.Tx, current Version, file File) (Version, importOutcome, error) {
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

// sameMeaning reports whether two definitions say the same, in whatever order their members are written.
func sameMeaning(a, b validations.Definition) (bool, error) {
	var digests [2]idempotency.Digest
	for i, definition := range []validations.Definition{a, b} {
		body, _, err := definition.Encode()
		if err != nil {
			return false, err
		}
		if digests[i], err = idempotency.DigestJSON(body, maxDefinitionDepth); err != nil {
			return false, fmt.Errorf("compare definitions: %w", err)
		}
	}
	return digests[0] == digests[1], nil
}
