package core

import (
	"net/http"
	"slices"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// CodeSpec is what is always true of a code.
type CodeSpec struct {
	Code   api.Code
	Status int
	Title  string
	// Retryable says that a machine may send the same request again without a change.
	Retryable bool
}

// specs has every code in the order of its status.
var specs = []CodeSpec{
	{api.CodeInvalidPayload, http.StatusBadRequest, "Invalid request body", false},
	{api.CodeInvalidParameter, http.StatusBadRequest, "Invalid parameter", false},
	{api.CodeKeyTooLong, http.StatusBadRequest, "Idempotency key too long", false},
	{api.CodeKeyInvalid, http.StatusBadRequest, "Invalid idempotency key", false},
	{api.CodeKeyRequired, http.StatusBadRequest, "Idempotency key required", false},
	{api.CodeNotAuthenticated, http.StatusUnauthorized, "Not authenticated", false},
	{api.CodeSignatureInvalid, http.StatusUnauthorized, "Signature not valid", false},
	{api.CodePaymentRequired, http.StatusPaymentRequired, "Payment required", false},
	{api.CodePermissionDenied, http.StatusForbidden, "Permission denied", false},
	{api.CodeOrganizationSuspended, http.StatusForbidden, "Organization suspended", false},
	{api.CodeSecondFactorRequired, http.StatusForbidden, "Second factor required", false},
	{api.CodeNotFound, http.StatusNotFound, "Not found", false},
	{api.CodeMethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", false},
	{api.CodeRequestTimeout, http.StatusRequestTimeout, "Request not received in time", true},
	{api.CodeKeyInProgress, http.StatusConflict, "Request in progress", true},
	{api.CodeRunReserved, http.StatusConflict, "Run is being charged", true},
	{api.CodePreconditionFailed, http.StatusPreconditionFailed, "Changed meanwhile", false},
	{api.CodePayloadTooLarge, http.StatusRequestEntityTooLarge, "Payload too large", false},
	{api.CodeUnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", false},
	{api.CodeKeyReused, http.StatusUnprocessableEntity, "Idempotency key already used", false},
	{api.CodeKeyNotReleasable, http.StatusUnprocessableEntity, "Idempotency key not releasable", false},
	{api.CodeWorkflowInactive, http.StatusUnprocessableEntity, "Workflow is inactive", false},
	{api.CodeWorkflowHasNoSteps, http.StatusUnprocessableEntity, "Workflow has no steps", false},
	{api.CodeDocumentGone, http.StatusUnprocessableEntity, "Document no longer kept", false},
	{api.CodeRunCompleted, http.StatusUnprocessableEntity, "Run has already ended", false},
	{api.CodeLastOwner, http.StatusUnprocessableEntity, "Last owner", false},
	{api.CodeTokenNotRotatable, http.StatusUnprocessableEntity, "Token cannot be rotated", false},
	{api.CodeQuotaExceeded, http.StatusTooManyRequests, "Quota exceeded", false},
	{api.CodeTooManyTokens, http.StatusTooManyRequests, "Too many tokens", false},
	{api.CodeRateLimited, http.StatusTooManyRequests, "Too many requests", true},
	{api.CodeRequestHeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, "Request header too large", false},
	{api.CodeInternalError, http.StatusInternalServerError, "Internal error", false},
	{api.CodeUnavailable, http.StatusServiceUnavailable, "Temporarily unavailable", true},
	{api.CodeOutcomeUnknown, http.StatusServiceUnavailable, "Outcome unknown", true},
}

// Codes lists every code in the order of its status.
func Codes() []CodeSpec {
	return slices.Clone(specs)
}

// Spec returns what is always true of a code; an unknown one is an internal error.
func Spec(code api.Code) CodeSpec {
	for _, spec := range specs {
		if spec.Code == code {
			return spec
		}
	}
	return Spec(api.CodeInternalError)
}
