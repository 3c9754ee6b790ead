package access

import (
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"

	"github.com/simplevalidations/simplevalidations/users/account"
)

// A token is secretPrefix, the name of the cell that has made it and "_" where the installation is one, and two numbers
// in base 62: the random bytes, and the CRC32 of all that stands before it.
const (
	secretPrefix = "svt_"
	randomDigits = 43
	sumDigits    = 6
	// shownDigits is how much of the random number is kept, so that people recognize the token.
	shownDigits = 6
)

// secretForm is in the guide on tokens, for scanners of secrets.
var secretForm = regexp.MustCompile(`^svt_(?:[a-z0-9]{1,16}_)?[0-9A-Za-z]{49}$`)

// secretOf makes the secret of random bytes, and what is stored of it.
func (s *Service) secretOf(
	random []byte,
) (secret string, digest []byte, prefix string) { //nolint:nonamedreturns // as it says
	begin := secretPrefix
	if s.cell != "" {
		begin += s.cell + "_"
	}
	number := begin + base62(new(big.Int).SetBytes(random), randomDigits)
	secret = number + checksum(number)
	return secret, account.Digest(secret), secret[:len(begin)+shownDigits]
}

// isDamaged reports whether a secret cannot be that of a token, which takes no look-up. Secrets that were made before
// there were checksums have another prefix.
func isDamaged(secret string) bool {
	if !strings.HasPrefix(secret, secretPrefix) {
		return false
	}
	end := len(secret) - sumDigits
	return !secretForm.MatchString(secret) || checksum(secret[:end]) != secret[end:]
}

func checksum(text string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), sumDigits)
}

// base62 writes a number with the digits 0-9, a-z and A-Z.
func base62(number *big.Int, digits int) string {
	text := number.Text(big.MaxBase)
	return strings.Repeat("0", digits-len(text)) + text
}
