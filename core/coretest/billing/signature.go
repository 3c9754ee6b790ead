package billing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HeaderSignature carries a call's signature: "t=<unix seconds>,v2=<hex HMAC-SHA256>" over
// v2.charge.<unix seconds>.<idempotency key>.<run>.<hex SHA-256 of the body>.
const HeaderSignature = "Sv-Signature"

// tolerance is how far the clocks may be apart; an older call is one that somebody has recorded.
const tolerance = 5 * time.Minute

// Verify checks the signature of a charge whose body has arrived at the time.
func Verify(secret []byte, signature string, charge Charge, body []byte, now time.Time) error {
	stamp, sum, ok := strings.Cut(signature, ",")
	stamp, isStamp := strings.CutPrefix(stamp, "t=")
	sum, isSum := strings.CutPrefix(sum, "v2=")
	if !ok || !isStamp || !isSum {
		return errors.New("the signature has not the form t=<seconds>,v2=<sum>")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the signature: %w", err)
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errors.New("the signature is too old or from the future")
	}
	given, err := hex.DecodeString(sum)
	if err != nil {
		return fmt.Errorf("read the sum of the signature: %w", err)
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "v2.charge.%s.%s.%s.%x", stamp, charge.Key, charge.RunID, sha256.Sum256(body))
	if !hmac.Equal(given, mac.Sum(nil)) {
		return errors.New("the signature does not match the charge")
	}
	return nil
}
