package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// MaxWebhooks is how many webhooks an organization may have.
const MaxWebhooks = 20

// Webhook is a URL that events of an organization are sent to.
type Webhook struct {
	ID          uuid.UUID
	URL         string
	Description string
	// EventTypes are those that it wants; without any it wants all.
	EventTypes []api.EventType
	// Workflow narrows the events to those of one workflow; nil for all.
	Workflow  *uuid.UUID
	Signature api.SignatureScheme
	// Headers are the names of its own headers.
	Headers   []string
	CreatedAt time.Time
	RotatedAt *time.Time
	// DisabledAt is nil while it gets events. The reason is empty where a person has disabled it.
	DisabledAt     *time.Time
	DisabledReason string
	FailingSince   *time.Time
	// Resending is the time of the event that it gets again next; nil if it gets none.
	Resending *time.Time
}

// draft is what of a webhook people choose. What is nil stays as it is.
type draft struct {
	URL         *string            `json:"url"         validate:"omitempty,min=1"`
	Description *string            `json:"description" validate:"omitempty,max=200,excludesrune=\x00"`
	EventTypes  *[]api.EventType   `json:"event_types"`
	Workflow    workflowFilter     `json:"workflow"`
	Headers     *map[string]string `json:"headers"`
}

// newDraft is the body of a new webhook.
type newDraft struct {
	draft

	Signature api.SignatureScheme `json:"signature" validate:"omitempty,oneof=v1 v1a"`
}

// change is the body of a change.
type change struct {
	draft

	Enabled *bool `json:"enabled"`
}

// workflowFilter is the id of a workflow, or null for all. It may be absent.
type workflowFilter struct {
	given bool
	id    *uuid.UUID
}

// UnmarshalJSON reads an id or null.
func (w *workflowFilter) UnmarshalJSON(text []byte) error {
	w.given = true
	return json.Unmarshal(text, &w.id)
}

// headers are those that are wanted; none where they stay as they are.
func (d *draft) headers() map[string]string {
	if d.Headers == nil {
		return nil
	}
	return *d.Headers
}

// check refuses what cannot be called.
func (d *draft) check(address string) error {
	if d.EventTypes != nil && slices.ContainsFunc(*d.EventTypes, isUnknown) {
		return core.InvalidField(api.FieldError{
			Pointer: "/event_types", Code: "unknown", Detail: "has a type that there is not",
		})
	}
	var fields []api.FieldError
	for _, fault := range engines.CheckCall(address, d.headers(), true) {
		fields = append(fields, api.FieldError{Pointer: fault.Pointer, Code: "invalid", Detail: fault.Detail})
	}
	if len(fields) > 0 {
		return core.InvalidField(fields[0])
	}
	return nil
}

// isUnknown reports whether a webhook cannot want events of the type.
func isUnknown(t api.EventType) bool {
	return !slices.Contains([]api.EventType{
		api.EventTypeRunCompleted, api.EventTypeRunCanceled, api.EventTypeQuotaReached,
		api.EventTypeUsageOverageCharged, api.EventTypeKeyAbandoned, api.EventTypeWorkflowVersionPublished,
		api.EventTypeEndpointDisabled,
	}, t)
}

// apply changes the webhook.
func (d *draft) apply(w *Webhook) {
	if d.URL != nil {
		w.URL = *d.URL
	}
	if d.Description != nil {
		w.Description = *d.Description
	}
	if d.EventTypes != nil {
		w.EventTypes = *d.EventTypes
	}
	if d.Workflow.given {
		w.Workflow = d.Workflow.id
	}
	if d.Headers != nil {
		w.Headers = slices.Sorted(maps.Keys(*d.Headers))
	}
}

// Service is the webhooks and events of all organizations.
type Service struct {
	db   *db.DB
	ring keyring.Ring
}

// NewService makes a Service. The ring encrypts the secrets; without a key in it no webhook can be created.
func NewService(database *db.DB, ring keyring.Ring) *Service {
	return &Service{db: database, ring: ring}
}

// audited is the record of what a principal does with a webhook.
func audited(ctx context.Context, who core.Principal, action string, w Webhook) (core.AuditRecord, error) {
	id, err := core.NewID()
	return core.AuditRecord{
		ID: id, OrgID: who.OrgID, ActorID: who.UserID, TokenID: who.TokenID, Action: "webhook." + action,
		TargetType: "webhook", TargetID: w.ID.String(), RequestID: core.RequestID(ctx), Detail: w.URL,
	}, err
}

// create makes a webhook and returns it with its secret.
func (s *Service) create(ctx context.Context, who core.Principal, wanted newDraft) (Webhook, []byte, error) {
	id, err := core.NewID()
	if err != nil {
		return Webhook{}, nil, err
	}
	w := Webhook{ID: id, EventTypes: []api.EventType{}, Signature: api.SignatureSchemeV1, Headers: []string{}}
	if wanted.Signature != "" {
		w.Signature = wanted.Signature
	}
	wanted.apply(&w)
	if err := wanted.check(w.URL); err != nil {
		return Webhook{}, nil, err
	}
	secret := newSecret()
	sealed, err := s.ring.Seal(secret, binding(id, "sealed"))
	if err != nil {
		return Webhook{}, nil, fmt.Errorf("encrypt the secret of a webhook: %w", err)
	}
	headers, err := sealHeaders(s.ring, id, wanted.headers())
	if err != nil {
		return Webhook{}, nil, err
	}
	record, err := audited(ctx, who, "create", w)
	if err != nil {
		return Webhook{}, nil, err
	}
	w, err = db.InTx(ctx, s.db, func(tx db.Tx) (Webhook, error) {
		return insert(ctx, tx, who.OrgID, w, sealed, headers, record)
	})
	return w, secret, conflict(err)
}

// change changes a webhook. One that is enabled again begins anew: what failed before does not count.
func (s *Service) change(ctx context.Context, who core.Principal, id uuid.UUID, wanted change) (Webhook, error) {
	headers, err := sealHeaders(s.ring, id, wanted.headers())
	if err != nil {
		return Webhook{}, err
	}
	changed, err := db.InTx(ctx, s.db, func(tx db.Tx) (Webhook, error) {
		w, err := lock(ctx, tx, who.OrgID, id)
		if err != nil {
			return Webhook{}, err
		}
		wanted.apply(&w)
		if err := wanted.check(w.URL); err != nil {
			return Webhook{}, err
		}
		record, err := audited(ctx, who, "change", w)
		if err != nil {
			return Webhook{}, err
		}
		return update(ctx, tx, who.OrgID, w, wanted, headers, record)
	})
	return changed, conflict(err)
}

// conflict answers what the database refuses.
func conflict(err error) error {
	switch db.ViolatedConstraint(err) {
	case "uq_webhooks_url":
		return core.InvalidField(api.FieldError{
			Pointer: "/url", Code: "taken", Detail: "is the URL of another webhook of this organization",
		})
	case "fk_webhooks_workflow":
		return core.InvalidField(api.FieldError{
			Pointer: "/workflow", Code: "unknown", Detail: "is not the id of a workflow of this organization",
		})
	}
	return err
}

// rotate gives a webhook a new secret and returns it. The former one still signs for 24 hours.
func (s *Service) rotate(ctx context.Context, who core.Principal, id uuid.UUID) (Webhook, []byte, error) {
	secret := newSecret()
	rotated, err := db.InTx(ctx, s.db, func(tx db.Tx) (Webhook, error) {
		w, err := lock(ctx, tx, who.OrgID, id)
		if err != nil {
			return Webhook{}, err
		}
		former, err := readSealed(ctx, tx, who.OrgID, id)
		if err != nil {
			return Webhook{}, err
		}
		secrets, _, err := former.open(s.ring, id)
		if err != nil {
			return Webhook{}, err
		}
		var sealed sealedSecrets
		if sealed.current, err = s.ring.Seal(secret, binding(id, "sealed")); err != nil {
			return Webhook{}, fmt.Errorf("encrypt the secret of a webhook: %w", err)
		}
		if sealed.previous, err = s.ring.Seal(secrets[0], binding(id, "sealed_previous")); err != nil {
			return Webhook{}, fmt.Errorf("encrypt the secret of a webhook: %w", err)
		}
		record, err := audited(ctx, who, "rotate", w)
		if err != nil {
			return Webhook{}, err
		}
		return rotateSecret(ctx, tx, who.OrgID, id, sealed, record)
	})
	return rotated, secret, err
}

// remove deletes a webhook with its deliveries. One that is not there is no error.
func (s *Service) remove(ctx context.Context, who core.Principal, id uuid.UUID) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		w, err := lock(ctx, tx, who.OrgID, id)
		if errors.Is(err, api.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		record, err := audited(ctx, who, "delete", w)
		if err != nil {
			return err
		}
		batch := tx.NewBatch()
		batch.Queue(`DELETE FROM webhooks WHERE org_id = $1 AND id = $2`, who.OrgID, id)
		core.Audit(batch, record)
		return batch.Send(ctx)
	})
}
