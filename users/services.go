package users

import (
	"context"
	"errors"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Service reads and changes what the app owns.
type Service struct {
	db    *db.DB
	check *core.Validator
	seen  *lastUse
	// tokenCache keeps the holders of tokens that were used lately.
	tokenCache *lru.Cache[tokenDigest, tokenHolder]
	// hashing has a slot for each password that may be hashed at once.
	hashing chan struct{}
	// hashCost is what a new hash of a password costs; a stored one says itself what it has cost.
	hashCost *argon2id.Params
}

// NewService makes the service.
func NewService(database *db.DB, check *core.Validator) (*Service, error) {
	tokens, err := newTokenCache()
	if err != nil {
		return nil, err
	}
	return &Service{
		db: database, check: check, seen: &lastUse{tokens: make(map[uuid.UUID]uuid.UUID)}, tokenCache: tokens,
		hashing: make(chan struct{}, maxHashes), hashCost: argon2id.DefaultParams,
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
