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

// HeaderSignature carries a call's signature: "t=<unix seconds>,v1=<hex HMAC-SHA256>" over the seconds, a full stop and
// the body.
const HeaderSignature = "Sv-Signature"

// tolerance is how far the clocks may be apart; an older call is one that somebody has recorded.
const tolerance = 5 * time.Minute

// Verify checks the signature of a body that has arrived at the time.
func Verify(secret []byte, signature string, body []byte, now time.Time) error {
	stamp, sum, ok := strings.Cut(signature, ",")
	stamp, isStamp := strings.CutPrefix(stamp, "t=")
	sum, isSum := strings.CutPrefix(sum, "v1=")
	if !ok || !isStamp || !isSum {
		return errors.New("the signature has not the form t=<seconds>,v1=<sum>")
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
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	if !hmac.Equal(given, mac.Sum(nil)) {
		return errors.New("the signature does not fit the body")
	}
	return nil
}
