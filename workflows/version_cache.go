package workflows

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/validations"
)

// maxCachedVersions bounds the cache of versions that were started.
const maxCachedVersions = 10_000

// versionCache finds versions for starts. Each entry is valid under the access tag that the organization had; every
// change of a workflow renews the tag (docs/adr/0007-access-tags.md).
type versionCache struct {
	service *Service
	entries *lru.Cache[versionName, cachedVersion]
}

// versionName is what a request calls a version: by the workflow's id or slug, and by a number or 0 for the latest.
type versionName struct {
	orgID    uuid.UUID
	workflow string
	number   int
}

type cachedVersion struct {
	version validations.WorkflowRef
	tag     uuid.UUID
}

func newVersionCache(service *Service) (*versionCache, error) {
	entries, err := lru.New[versionName, cachedVersion](maxCachedVersions)
	if err != nil {
		return nil, fmt.Errorf("make the cache of versions: %w", err)
	}
	return &versionCache{service: service, entries: entries}, nil
}

// PrefetchVersion looks a version up together with the caller's token, unless it is cached under the caller's tag.
func (v *versionCache) PrefetchVersion(
	loader *db.Loader, org core.CallerOrg, idOrSlug string, number int,
) *db.Future[*validations.WorkflowRef] {
	name := versionName{orgID: org.ID, workflow: idOrSlug, number: number}
	if cached, ok := v.entries.Get(name); ok && cached.tag == org.Tag {
		return db.Known(&cached.version)
	}
	keep := func(version Version, tag uuid.UUID) validations.WorkflowRef {
		name.orgID = version.OrgID
		v.entries.Add(name, cachedVersion{version: version.ref(), tag: tag})
		return version.ref()
	}
	return lookUpVersion(loader, org, idOrSlug, number, keep)
}

// FindVersion returns a version with its definition, or answers not_found.
func (v *versionCache) FindVersion(
	ctx context.Context, orgID, workflowID uuid.UUID, number int,
) (validations.WorkflowRef, error) {
	version, err := v.service.Find(ctx, orgID, workflowID.String(), number)
	return version.ref(), err
}
