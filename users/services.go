package users

import (
	"context"
	"errors"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/flush"
)

// Service reads and changes what the app owns.
type Service struct {
	db    *db.DB
	check *core.Validator
	used  *flush.Collector[usedTokens]
	// tokenCache caches the holders of recently used tokens.
	tokenCache *lru.Cache[tokenDigest, tokenHolder]
	passwords  *passwords
	cfg        Config
}

// NewService makes the service.
func NewService(database *db.DB, check *core.Validator, cfg Config) (*Service, error) {
	tokens, err := newTokenCache()
	if err != nil {
		return nil, err
	}
	return &Service{
		db: database, check: check, used: flush.NewCollector(newUsedTokens),
		tokenCache: tokens, passwords: newPasswords(), cfg: cfg,
	}, nil
}

var (
	// errTaken means that the name is in use.
	errTaken = errors.New("is taken")
	// errNotMember means that a token would be of no use: its owner has no role in the organization.
	errNotMember = errors.New("the user is not a member of the organization")
)

// audit records an action of the principal in the transaction of the action. A principal without a user is the
// operator.
func audit(ctx context.Context, tx db.Tx, principal core.Principal, record core.AuditRecord) error {
	id, err := core.NewID()
	if err != nil {
		return err
	}
	record.ID, record.OrgID, record.RequestID = id, principal.OrgID, core.RequestID(ctx)
	record.ActorID, record.TokenID = principal.UserID, principal.TokenID
	batch := tx.NewBatch()
	core.Audit(batch, record)
	return batch.Send(ctx)
}

// auditUser records an action on a user's account in the transaction of the action: once in each organization that the
// user belongs to. If there is none, the record's organization is the zero UUID. The zero actor is the operator.
func auditUser(ctx context.Context, tx db.Tx, actor, userID uuid.UUID, action, detail string) error {
	orgs, err := organizationsOf(ctx, tx, userID)
	if err != nil {
		return err
	}
	if len(orgs) == 0 {
		orgs = []uuid.UUID{uuid.Nil}
	}
	records := make([]core.AuditRecord, len(orgs))
	for i, orgID := range orgs {
		id, err := core.NewID()
		if err != nil {
			return err
		}
		records[i] = core.AuditRecord{
			ID: id, OrgID: orgID, ActorID: actor, Action: action, TargetType: "user", TargetID: userID.String(),
			RequestID: core.RequestID(ctx), Detail: detail,
		}
	}
	batch := tx.NewBatch()
	core.Audit(batch, records...)
	return batch.Send(ctx)
}
