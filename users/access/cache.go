package access

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// maxCachedTokens bounds the cache of the holders of tokens.
const maxCachedTokens = 10_000

// holder is the user of a valid token. A user who has left the organization, or lacks the second factor that it
// requires, is known but may do nothing.
type holder struct {
	principal   core.Principal
	isMember    bool
	lacksFactor bool
}

// tokenHolder is the holder of a token as of an access tag of the organization (docs/adr/0007-access-tags.md).
type tokenHolder struct {
	holder
	tag       uuid.UUID
	expiresAt *time.Time
}

type tokenDigest [sha256.Size]byte
