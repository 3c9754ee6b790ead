package core

import (
	"net/http"
	"slices"
)

// Code names a kind of error. Clients switch on it, so a code never changes its meaning; each has a
// page under /docs/errors/.
type Code string

// The codes of every error that the service answers with.
const (
	CodeInvalidPayload        Code = "invalid_payload"
	CodeInvalidParameter      Code = "invalid_parameter"
	CodeKeyTooLong            Code = "idempotency_key_too_long"
	CodeKeyInvalid            Code = "idempotency_key_invalid"
	CodeKeyRequired           Code = "idempotency_key_required"
	CodeKeyInProgress         Code = "idempotency_key_in_progress"
	CodeKeyReused             Code = "idempotency_key_reused"
	CodeKeyNotReleasable      Code = "idempotency_key_not_releasable"
	CodeNotAuthenticated      Code = "not_authenticated"
	CodeSignatureInvalid      Code = "signature_invalid"
	CodePaymentRequired       Code = "payment_required"
	CodePermissionDenied      Code = "permission_denied"
	CodeOrganizationSuspended Code = "organization_suspended"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodePreconditionFailed    Code = "precondition_failed"
	CodePayloadTooLarge       Code = "payload_too_large"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeRequestHeaderTooLarge Code = "request_header_too_large"
	CodeRequestTimeout        Code = "request_timeout"
	CodeWorkflowInactive      Code = "workflow_inactive"
	CodeWorkflowHasNoSteps    Code = "workflow_has_no_steps"
	CodeDocumentGone          Code = "document_gone"
	CodeRunCompleted          Code = "run_completed"
	CodeRunReserved           Code = "run_reserved"
	CodeLastOwner             Code = "last_owner"
	CodeTokenNotRotatable     Code = "token_not_rotatable"
	CodeTooManyTokens         Code = "too_many_tokens"
	CodeQuotaExceeded         Code = "quota_exceeded"
	CodeRateLimited           Code = "rate_limited"
	CodeInternal              Code = "internal_error"
	CodeUnavailable           Code = "unavailable"
	CodeOutcomeUnknown        Code = "outcome_unknown"
)

// CodeSpec is what is always true of a code.
type CodeSpec struct {
	Code   Code
	Status int
	Title  string
	// Retryable says that a machine may send the same request again without a change.
	Retryable bool
}

// specs has every code in the order of its status.
var specs = []CodeSpec{
	{CodeInvalidPayload, http.StatusBadRequest, "Invalid request body", false},
	{CodeInvalidParameter, http.StatusBadRequest, "Invalid parameter", false},
	{CodeKeyTooLong, http.StatusBadRequest, "Idempotency key too long", false},
	{CodeKeyInvalid, http.StatusBadRequest, "Invalid idempotency key", false},
	{CodeKeyRequired, http.StatusBadRequest, "Idempotency key required", false},
	{CodeNotAuthenticated, http.StatusUnauthorized, "Not authenticated", false},
	{CodeSignatureInvalid, http.StatusUnauthorized, "Signature not valid", false},
	{CodePaymentRequired, http.StatusPaymentRequired, "Payment required", false},
	{CodePermissionDenied, http.StatusForbidden, "Permission denied", false},
	{CodeOrganizationSuspended, http.StatusForbidden, "Organization suspended", false},
	{CodeNotFound, http.StatusNotFound, "Not found", false},
	{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", false},
	{CodeRequestTimeout, http.StatusRequestTimeout, "Request not received in time", true},
	{CodeKeyInProgress, http.StatusConflict, "Request in progress", true},
	{CodeRunReserved, http.StatusConflict, "Run is being charged", true},
	{CodePreconditionFailed, http.StatusPreconditionFailed, "Changed meanwhile", false},
	{CodePayloadTooLarge, http.StatusRequestEntityTooLarge, "Payload too large", false},
	{CodeUnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", false},
	{CodeKeyReused, http.StatusUnprocessableEntity, "Idempotency key already used", false},
	{CodeKeyNotReleasable, http.StatusUnprocessableEntity, "Idempotency key not releasable", false},
	{CodeWorkflowInactive, http.StatusUnprocessableEntity, "Workflow is inactive", false},
	{CodeWorkflowHasNoSteps, http.StatusUnprocessableEntity, "Workflow has no steps", false},
	{CodeDocumentGone, http.StatusUnprocessableEntity, "Document no longer kept", false},
	{CodeRunCompleted, http.StatusUnprocessableEntity, "Run has already ended", false},
	{CodeLastOwner, http.StatusUnprocessableEntity, "Last owner", false},
	{CodeTokenNotRotatable, http.StatusUnprocessableEntity, "Token cannot be rotated", false},
	{CodeQuotaExceeded, http.StatusTooManyRequests, "Quota exceeded", false},
	{CodeTooManyTokens, http.StatusTooManyRequests, "Too many tokens", false},
	{CodeRateLimited, http.StatusTooManyRequests, "Too many requests", true},
	{CodeRequestHeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, "Request header too large", false},
	{CodeInternal, http.StatusInternalServerError, "Internal error", false},
	{CodeUnavailable, http.StatusServiceUnavailable, "Temporarily unavailable", true},
	{CodeOutcomeUnknown, http.StatusServiceUnavailable, "Outcome unknown", true},
}

// Codes lists every code in the order of its status.
func Codes() []CodeSpec {
	return slices.Clone(specs)
}

// Spec returns what is always true of the code; an unknown code is an internal error.
func (c Code) Spec() CodeSpec {
	for _, spec := range specs {
		if spec.Code == c {
			return spec
		}
	}
	return CodeInternal.Spec()
}
