package signin

import (
	"crypto/sha256"
	"fmt"
	"net/netip"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// networkBits is the length of the prefix of an IPv6 address that its holder cannot change.
const networkBits = 64

// Network is the key by which attempts are counted: an IPv4 address, or the /64 of an IPv6 address.
func Network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, networkBits).Masked().String()
}

// MayGuess counts an attempt with a password, because comparing one costs much memory and time. An attempt that is
// refused is not counted, so the limit slows guesses and never locks an account.
func (a *App) MayGuess(subject string) error {
	allowance := a.signIns.Allow(subjectID(subject))
	if allowance.Allowed() {
		return nil
	}
	refused := core.RateLimited("", allowance.Wait)
	refused.Detail = fmt.Sprintf("Too many password attempts. Try again in %s.",
		core.Plural(refused.RetrySeconds(), "second"))
	return refused
}

func subjectID(subject string) uuid.UUID {
	digest := sha256.Sum256([]byte(subject))
	return uuid.UUID(digest[:16])
}
