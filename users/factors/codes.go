package factors

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"image"
	"strings"

	"github.com/google/uuid"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"github.com/simplevalidations/simplevalidations/core/keyring"
)

const (
	// factorSeal is the place of encrypted secrets in the database. The user stands where organizations do otherwise.
	factorSeal = "second_factors.sealed"
	// factorBytes is the length of a secret, as RFC 4226 recommends.
	factorBytes = 20
	// stepSeconds is how long a code is shown.
	stepSeconds = 30
	// skew is how many steps a clock may be slow or fast.
	skew = 1
	// recoveryCodes is how many recovery codes there are, and recoveryBytes what each is made of: too many to guess, so
	// that a plain digest keeps them.
	recoveryCodes = 10
	recoveryBytes = 10
	// freeFailures is how many wrong codes in a row are allowed without a pause.
	freeFailures = 5
)

// codesOf are the parameters of the codes, which every authenticator app supports.
func codesOf() hotp.ValidateOpts {
	return hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}
}

// newFactor makes a secret.
func newFactor() []byte {
	secret := make([]byte, factorBytes)
	// rand.Read never returns an error: since Go 1.24 it ends the process instead.
	_, _ = rand.Read(secret)
	return secret
}

func encodeFactor(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

func factorPlace(userID uuid.UUID) keyring.Binding {
	return keyring.Binding{OrgID: userID, Column: factorSeal}
}

// acceptedStep returns the step whose code it is, later than the one that was accepted last; 0 for none. So a code that
// was watched over a shoulder is useless once its owner has entered it.
func acceptedStep(secret []byte, code string, now, last int64) int64 {
	for step := now/stepSeconds - skew; step <= now/stepSeconds+skew; step++ {
		if step <= last || step < 0 {
			continue
		}
		matches, err := hotp.ValidateCustom(code, uint64(step), encodeFactor(secret), codesOf())
		if err == nil && matches {
			return step
		}
	}
	return 0
}

// newRecoveryCodes makes recovery codes, and what is stored of them.
func newRecoveryCodes() ([]string, [][]byte) {
	codes, digests := make([]string, recoveryCodes), make([][]byte, recoveryCodes)
	for i := range codes {
		random := make([]byte, recoveryBytes)
		_, _ = rand.Read(random) // As in newFactor.
		text := strings.ToLower(base32.StdEncoding.EncodeToString(random))
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
		digests[i] = recoveryDigest(codes[i])
	}
	return codes, digests
}

// recoveryDigest is the digest of a recovery code, however it was typed.
func recoveryDigest(code string) []byte {
	digest := sha256.Sum256([]byte(strings.ToLower(bare(code))))
	return digest[:]
}

// bare is a code without the spaces and hyphens between its characters.
func bare(code string) string {
	return strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(code)
}

// isAppCode distinguishes the codes of an app from recovery codes.
func isAppCode(code string) bool { return len(code) == otp.DigitsSix.Length() }

// Enrolment is what an authenticator app needs.
type Enrolment struct {
	// Secret is for apps that read no pictures, in groups of four.
	Secret string
	// Picture is the QR code as the data of an SVG path, in a square with sides of Size.
	Picture string
	Size    int
}

// newEnrolment draws the secret of a user.
func newEnrolment(secret []byte, email string) (Enrolment, error) {
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer: "SimpleValidations", AccountName: email, Secret: secret, Period: stepSeconds,
		Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
	})
	if err != nil {
		return Enrolment{}, fmt.Errorf("describe a second factor: %w", err)
	}
	code, err := drawn(key)
	if err != nil {
		return Enrolment{}, fmt.Errorf("draw a second factor: %w", err)
	}
	// Scanners need four squares of white around the code.
	const margin = 4
	var path strings.Builder
	bounds := code.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+margin, y+margin)
			}
		}
	}
	return Enrolment{
		Secret: inFours(encodeFactor(secret)), Size: bounds.Dx() + 2*margin, Picture: path.String(),
	}, nil
}

// drawn is the QR code of a key with a pixel for each square. Codes have sides of 21 to 177 squares, in steps of four,
// and none is drawn smaller than it is.
func drawn(key *otp.Key) (image.Image, error) {
	code, err := key.Image(21, 21)
	for side := 25; err != nil && side <= 177; side += 4 {
		code, err = key.Image(side, side)
	}
	return code, err
}

func inFours(text string) string {
	var parts []string
	for len(text) > 4 {
		parts, text = append(parts, text[:4]), text[4:]
	}
	return strings.Join(append(parts, text), " ")
}
