package workflows

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// announce audits the new version and renders it as the answer.
func announce(
	ctx context.Context, tx db.Tx, principal core.Principal, action string, version Version,
	warnings []api.FieldError,
) (idempotency.Response, error) {
	if err := audit(ctx, tx, principal, action, version); err != nil {
		return idempotency.Response{}, err
	}
	body := renderVersion(version, principal.OrgSlug)
	body.Warnings = warnings
	return respond(http.StatusCreated, version, body)
}

// audit records who did what to the workflow, and which version is the latest since.
func audit(ctx context.Context, tx db.Tx, principal core.Principal, action string, version Version) error {
	return core.AuditBy(ctx, tx, principal, core.AuditRecord{
		Action: action, TargetType: "workflow", TargetID: version.ID.String(),
		Detail: fmt.Sprintf("version %d", version.Number),
	})
}

// respond renders an answer about the workflow, which is stored with the key of the request.
func respond(status int, version Version, value any) (idempotency.Response, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return idempotency.Response{}, fmt.Errorf("render a workflow: %w", err)
	}
	return idempotency.Response{
		Status: status,
		Headers: idempotency.ResponseHeaders{
			ContentType: "application/json", Location: "/api/workflows/" + version.ID.String() + "/",
		},
		Body: body,
	}, nil
}
