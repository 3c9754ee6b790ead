package users

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Service reads and changes what the app owns.
type Service struct {
	db    *db.DB
	check *core.Validator
	seen  *lastUse
	// holders are those of tokens that were used.
	holders *lru.Cache[tokenDigest, tokenHolder]
	// hashing has a place for each password that may be hashed at once.
	hashing chan struct{}
}

// NewService makes the service.
func NewService(database *db.DB, check *core.Validator) (*Service, error) {
	holders, err := newTokenHolders()
	if err != nil {
		return nil, err
	}
	return &Service{
		db: database, check: check, seen: &lastUse{tokens: make(map[uuid.UUID]uuid.UUID)}, holders: holders,
		hashing: make(chan struct{}, maxHashes),
	}, nil
}

var (
	// errTaken means that the name is in use.
	errTaken = errors.New("is taken")
	// errNotMember means that a token would be of no use: its owner has no role in the organization.
	errNotMember = errors.New("the user is not a member of the organization")
)

// CreateOrganization adds a tenant. A nil quota is unlimited.
func (s *Service) CreateOrganization(ctx context.Context, slug, name string, quota *int64) (Organization, error) {
	id, err := core.NewID()
	if err != nil {
		return Organization{}, err
	}
	org := Organization{ID: id, Slug: slug, Name: name, RunQuota: quota, CreatedAt: time.Now()}
	if err := s.check.Body(org); err != nil {
		return Organization{}, err
	}
	err = gorm.G[Organization](s.db.Gorm).Create(ctx, &org)
	switch db.ViolatedConstraint(err) {
	case "uq_organizations_slug":
		return Organization{}, fmt.Errorf("organization %q %w", slug, errTaken)
	case "ck_organizations_slug":
		return Organization{}, core.InvalidPayload("A slug has lower-case letters, digits and hyphens, 63 at most.")
	}
	if err != nil {
		return Organization{}, fmt.Errorf("create organization %q: %w", slug, err)
	}
	return org, nil
}

// Organization finds a tenant by its slug.
func (s *Service) Organization(ctx context.Context, slug string) (Organization, error) {
	org, err := gorm.G[Organization](s.db.Gorm).Where("slug = ?", slug).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Organization{}, core.NewError(core.CodeNotFound, fmt.Sprintf("There is no organization %q.", slug))
	}
	if err != nil {
		return Organization{}, fmt.Errorf("find organization %q: %w", slug, err)
	}
	return org, nil
}

// SetRunQuota sets how many runs a month the organization may start, from now on; nil is unlimited.
// What is already used stays used: the current period's quota never falls below it.
func (s *Service) SetRunQuota(ctx context.Context, orgID uuid.UUID, quota *int64) error {
	if quota != nil && *quota < 0 {
		return core.InvalidPayload("A quota is 0 or more.")
	}
	_, err := db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		batch.Queue(`UPDATE organizations SET run_quota = $2 WHERE id = $1`, orgID, quota)
		batch.Queue(`
			UPDATE usage_counters SET quota = greatest($2::bigint, CASE WHEN $2::bigint IS NOT NULL THEN used END)
			WHERE org_id = $1 AND metric = $3 AND period_start = date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
			orgID, quota, MetricRuns)
		return struct{}{}, s.auditOperator(ctx, batch, orgID, "organization.set_quota", describeQuota(quota))
	})
	return err
}

// KeyPolicy is how an organization wants its idempotency keys.
type KeyPolicy struct {
	Required bool
	// Lifetime is how long keys are remembered, from a minute to 30 days; zero is the installation's default.
	Lifetime time.Duration
}

// SetKeyPolicy sets how the organization wants its keys, from the next request on. Keys that are in use
// keep the end they were given.
func (s *Service) SetKeyPolicy(ctx context.Context, orgID uuid.UUID, policy KeyPolicy) error {
	outOfBounds := core.InvalidPayload("Keys are remembered for a minute at least and 30 days at most.")
	if policy.Lifetime < 0 {
		return outOfBounds
	}
	_, err := db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		batch.Queue(`
			UPDATE organizations SET key_required = $2,
				key_lifetime = CASE WHEN $3::float8 > 0 THEN make_interval(secs => $3) END
			WHERE id = $1`, orgID, policy.Required, policy.Lifetime.Seconds())
		return struct{}{}, s.auditOperator(ctx, batch, orgID, "organization.set_keys", describeKeys(policy))
	})
	if db.ViolatedConstraint(err) == "ck_organizations_key_lifetime" {
		return outOfBounds
	}
	return err
}

// auditOperator sends a batch together with the record of an operator's deed.
func (s *Service) auditOperator(ctx context.Context, batch *db.Batch, orgID uuid.UUID, action, detail string) error {
	id, err := core.NewID()
	if err != nil {
		return err
	}
	core.Audit(batch, core.AuditRecord{
		ID: id, OrgID: orgID, Action: action, TargetType: "organization", TargetID: orgID.String(), Detail: detail,
	})
	return batch.Send(ctx)
}

// SetOverage says whether the organization may start runs beyond its quota, each charged on its own.
func (s *Service) SetOverage(ctx context.Context, orgID uuid.UUID, allowed bool) error {
	_, err := db.InTx(ctx, s.db, func(tx db.Tx) (struct{}, error) {
		batch := tx.NewBatch()
		batch.Queue(`UPDATE organizations SET overage_billing = $2 WHERE id = $1`, orgID, allowed)
		return struct{}{}, s.auditOperator(ctx, batch, orgID, "organization.set_overage", describeOverage(allowed))
	})
	return err
}

// CreateUser adds a user. An empty password means that the user cannot sign in with one.
func (s *Service) CreateUser(ctx context.Context, email, name, password string) (User, error) {
	user, err := s.newUser(email, name, password)
	if err != nil {
		return User{}, err
	}
	if err := insertUser(ctx, s.db.Gorm, user); err != nil {
		return User{}, err
	}
	return user, nil
}

// MemberRequest asks for a new user who is a member of an organization.
type MemberRequest struct {
	OrgID uuid.UUID
	Role  core.Role
	Email string
	Name  string
	// Password may be empty: the user cannot sign in with one then.
	Password string
}

// CreateMember adds a user together with the membership, or neither.
func (s *Service) CreateMember(ctx context.Context, request MemberRequest) (User, error) {
	if err := checkRole(request.Role); err != nil {
		return User{}, err
	}
	user, err := s.newUser(request.Email, request.Name, request.Password)
	if err != nil {
		return User{}, err
	}
	return db.InGormTx(ctx, s.db, func(tx db.GormTx) (User, error) {
		if err := insertUser(ctx, tx.Gorm(ctx), user); err != nil {
			return User{}, err
		}
		return user, upsertMembership(ctx, tx.Gorm(ctx), Membership{
			OrgID: request.OrgID, UserID: user.ID, Role: request.Role, CreatedAt: user.CreatedAt,
		})
	})
}

// newUser checks what the user is made of and hashes the password, which takes too long for a transaction.
func (s *Service) newUser(email, name, password string) (User, error) {
	id, err := core.NewID()
	if err != nil {
		return User{}, err
	}
	user := User{ID: id, Email: normalizeEmail(email), Name: name, CreatedAt: time.Now()}
	if err := s.check.Body(user); err != nil {
		return User{}, err
	}
	if password != "" {
		if user.PasswordHash, err = hashPassword(password); err != nil {
			return User{}, err
		}
	}
	return user, nil
}

func insertUser(ctx context.Context, database *gorm.DB, user User) error {
	err := gorm.G[User](database).Create(ctx, &user)
	if db.ViolatedConstraint(err) == "uq_users_email" {
		return fmt.Errorf("user %q %w", user.Email, errTaken)
	}
	if err != nil {
		return fmt.Errorf("create user %q: %w", user.Email, err)
	}
	return nil
}

// User finds a user by the e-mail address.
func (s *Service) User(ctx context.Context, email string) (User, error) {
	user, err := gorm.G[User](s.db.Gorm).Where("email = ?", normalizeEmail(email)).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return User{}, core.NewError(core.CodeNotFound, fmt.Sprintf("There is no user %q.", normalizeEmail(email)))
	}
	if err != nil {
		return User{}, fmt.Errorf("find user %q: %w", email, err)
	}
	return user, nil
}

// SetMembership makes the user a member with the role, or changes the member's role.
func (s *Service) SetMembership(ctx context.Context, orgID, userID uuid.UUID, role core.Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return upsertMembership(ctx, s.db.Gorm, Membership{
		OrgID: orgID, UserID: userID, Role: role, CreatedAt: time.Now(),
	})
}

func checkRole(role core.Role) error {
	if !role.Allows(core.RoleViewer) {
		return core.InvalidPayload("A role is one of owner, admin, author, executor, viewer.")
	}
	return nil
}

func upsertMembership(ctx context.Context, database *gorm.DB, membership Membership) error {
	err := gorm.G[Membership](database, clause.OnConflict{
		Columns:   []clause.Column{{Name: "org_id"}, {Name: "user_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"role"}),
	}).Create(ctx, &membership)
	if err != nil {
		return membershipError(err)
	}
	return nil
}

// EnsureOrganization returns the organization with the slug and creates it when it is not there.
func (s *Service) EnsureOrganization(ctx context.Context, slug, name string, quota *int64) (Organization, error) {
	org, err := s.Organization(ctx, slug)
	if !core.HasCode(err, core.CodeNotFound) {
		return org, err
	}
	org, err = s.CreateOrganization(ctx, slug, name, quota)
	if errors.Is(err, errTaken) {
		return s.Organization(ctx, slug)
	}
	return org, err
}

// EnsureUser returns the user with the e-mail address and creates one without a password when there is none.
func (s *Service) EnsureUser(ctx context.Context, email, name string) (User, error) {
	user, err := s.User(ctx, email)
	if !core.HasCode(err, core.CodeNotFound) {
		return user, err
	}
	user, err = s.CreateUser(ctx, email, name, "")
	if errors.Is(err, errTaken) {
		return s.User(ctx, email)
	}
	return user, err
}
