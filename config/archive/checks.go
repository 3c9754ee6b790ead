package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// The checks read rows with a library that takes neither names in other cases nor names that occur twice: PostgreSQL
// takes the first for another member and the last of the second, so it would store something else than was checked.

// checkSubmission compares a document with its digest. Those in chunks are compared when all chunks are there.
func checkSubmission(row []byte) error {
	var submission struct {
		ID      string  `json:"id"`
		SHA256  string  `json:"sha256"`
		Content *string `json:"content"`
	}
	if err := json.Unmarshal(row, &submission); err != nil {
		return fmt.Errorf("%w: a submission cannot be read: %w", ErrDamaged, err)
	}
	if submission.Content == nil {
		return nil
	}
	content, err := fromHex(*submission.Content)
	if err != nil {
		return err
	}
	want, err := fromHex(submission.SHA256)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], want) {
		return fmt.Errorf("%w: the document of submission %q does not have its digest", ErrDamaged, submission.ID)
	}
	return nil
}

// checkRun refuses a run that would be executed.
func checkRun(row []byte) error {
	var run struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	if err := json.Unmarshal(row, &run); err != nil {
		return fmt.Errorf("%w: a run cannot be read: %w", ErrDamaged, err)
	}
	if run.State != "COMPLETED" {
		return fmt.Errorf("%w: run %q is not completed", ErrForeign, run.ID)
	}
	return nil
}

// checkKey refuses a key whose request would be resumed.
func checkKey(row []byte) error {
	var key struct {
		ID    string `json:"id"`
		Point string `json:"recovery_point"`
	}
	if err := json.Unmarshal(row, &key); err != nil {
		return fmt.Errorf("%w: a key cannot be read: %w", ErrDamaged, err)
	}
	if key.Point != "finished" {
		return fmt.Errorf("%w: the request of key %q is not finished", ErrForeign, key.ID)
	}
	return nil
}

// fromHex decodes bytes as PostgreSQL writes them.
func fromHex(text string) ([]byte, error) {
	digits, found := strings.CutPrefix(text, `\x`)
	decoded, err := hex.DecodeString(digits)
	if !found || err != nil {
		return nil, fmt.Errorf("%w: bytes are not hexadecimal", ErrDamaged)
	}
	return decoded, nil
}
