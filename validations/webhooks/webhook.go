package webhooks

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// MaxWebhooks is how many webhooks an organization may have.
const MaxWebhooks = 20

// Webhook is a URL that events of an organization are sent to.
type Webhook struct {
	api.Webhook

	// Failing says that no attempt has succeeded for so long that somebody should see why.
	Failing bool `json:"failing"`
}

// Draft is what of a webhook people choose.
type Draft struct {
	URL         string          `form:"url"         json:"url"`
	Description string          `form:"description" json:"description" validate:"max=200,excludesrune=\x00"`
	EventTypes  []api.EventType `form:"event_types" json:"event_types"`
	Workflow    api.Optional    `form:"workflow"    json:"workflow"    validate:"omitempty,uuid"`
	// Headers are nil where they stay as they are.
	Headers map[string]string `json:"headers"`
}

// draft is what has been chosen, without the headers.
func (w Webhook) draft() Draft {
	return Draft{URL: w.URL, Description: w.Description, EventTypes: w.EventTypes, Workflow: w.Workflow}
}

// NewDraft is the body of a new webhook.
type NewDraft struct {
	Draft

	Signature api.SignatureScheme `form:"signature" json:"signature" validate:"omitempty,oneof=v1 v1a"`
}

// change is the body of a change: what it leaves out is in it already.
type change struct {
	Draft

	Enabled *bool `json:"enabled"`
}

// check refuses what cannot be called, and types that there are not.
func (d *Draft) check() error {
	for _, wanted := range d.EventTypes {
		if !slices.ContainsFunc(eventTypes(nil), func(c pages.Choice) bool { return c.Value == string(wanted) }) {
			return core.InvalidField(api.FieldError{
				Pointer: "/event_types", Code: "unknown", Detail: "has a type that there is not",
			})
		}
	}
	if faults := engines.CheckCall(d.URL, d.Headers, true); len(faults) > 0 {
		return core.InvalidField(api.FieldError{
			Pointer: faults[0].Pointer, Code: "invalid", Detail: faults[0].Detail,
		})
	}
	return nil
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

// audit records what a principal has done with a webhook.
func audit(ctx context.Context, tx db.Tx, who core.Principal, action string, w Webhook) error {
	return core.AuditBy(ctx, tx, who, core.AuditRecord{
		Action: "webhook." + action, TargetType: "webhook", TargetID: w.ID, Detail: w.URL,
	})
}

// create makes a webhook and returns it with its secret.
func (s *Service) create(ctx context.Context, who core.Principal, wanted NewDraft) (Webhook, []byte, error) {
	if err := wanted.check(); err != nil {
		return Webhook{}, nil, err
	}
	id := core.NewID()
	secret := newSecret()
	sealed, err := seal(s.ring, id, "sealed", secret)
	if err != nil {
		return Webhook{}, nil, err
	}
	names, headers, err := sealHeaders(s.ring, id, wanted.Headers)
	if err != nil {
		return Webhook{}, nil, err
	}
	made, err := db.InTx(ctx, s.db, func(tx db.Tx) (Webhook, error) {
		w, err := insert(ctx, tx, who.OrgID, id, wanted, sealed, names, headers)
		if err != nil {
			return Webhook{}, err
		}
		return w, audit(ctx, tx, who, "create", w)
	})
	return made, secret, conflict(err)
}

// change has a webhook changed. One that is enabled again begins anew: what failed before does not count.
func (s *Service) change(
	ctx context.Context, who core.Principal, id uuid.UUID, edit func(wanted *change) error,
) (Webhook, error) {
	changed, err := db.InTx(ctx, s.db, func(tx db.Tx) (Webhook, error) {
		w, err := lock(ctx, tx, who.OrgID, id)
		if err != nil {
			return Webhook{}, err
		}
		wanted := change{Draft: w.draft()}
		if err = edit(&wanted); err == nil {
			err = wanted.check()
		}
		if err != nil {
			return Webhook{}, err
		}
		names, headers, err := sealHeaders(s.ring, id, wanted.Headers)
		if err != nil {
			return Webhook{}, err
		}
		if w, err = update(ctx, tx, who.OrgID, id, wanted, names, headers); err != nil {
			return Webhook{}, err
		}
		return w, audit(ctx, tx, who, "change", w)
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
		stored, err := readSealed(ctx, tx, who.OrgID, id)
		if err != nil {
			return Webhook{}, err
		}
		former, _, err := stored.open(s.ring, id)
		if err != nil {
			return Webhook{}, err
		}
		if stored.current, err = seal(s.ring, id, "sealed", secret); err != nil {
			return Webhook{}, err
		}
		if stored.previous, err = seal(s.ring, id, "sealed_previous", former[0]); err != nil {
			return Webhook{}, err
		}
		w, err := rotateSecret(ctx, tx, who.OrgID, id, stored)
		if err != nil {
			return Webhook{}, err
		}
		return w, audit(ctx, tx, who, "rotate", w)
	})
	return rotated, secret, err
}

// remove deletes a webhook with its deliveries. One that is not there is no error.
func (s *Service) remove(ctx context.Context, who core.Principal, id uuid.UUID) error {
	return db.Do(ctx, s.db, func(tx db.Tx) error {
		w, err := erase(ctx, tx, who.OrgID, id)
		if errors.Is(err, api.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return audit(ctx, tx, who, "delete", w)
	})
}
