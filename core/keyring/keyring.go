// Package keyring encrypts secrets that are stored in the database, under keys that are not.
//
// A sealed secret is the id of its key (8 bytes), a nonce (12 bytes), and the AES-256-GCM ciphertext with its tag.
// It is bound to its place in the database, so that a row copied to another organization or column cannot be opened.
package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const (
	// keyBytes is the length of a key: AES-256.
	keyBytes = 32
	// IDBytes is the length of the id with which sealed secrets begin.
	IDBytes = 8
)

// ErrNoKey means that the ring has no key at all.
var ErrNoKey = errors.New("no key to encrypt secrets with is configured")

// ErrUnknownKey means that a secret was sealed under a key that the ring does not have.
var ErrUnknownKey = errors.New("the secret is encrypted under another key")

// ID names a key without giving anything of it away.
type ID [IDBytes]byte

// String returns the id in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Binding is where a sealed secret is stored. Elsewhere it cannot be opened.
type Binding struct {
	OrgID uuid.UUID
	// Column is table.column.
	Column string
}

func (b Binding) associated() []byte {
	return append(b.OrgID[:], b.Column...)
}

// Ring seals with its first key and opens with each of them. The zero Ring has no keys. It is safe for concurrent use.
type Ring struct {
	keys []key
}

type key struct {
	id   ID
	aead cipher.AEAD
}

// Generate returns a new random key as Parse reads it.
func Generate() string {
	random := make([]byte, keyBytes)
	// rand.Read never returns an error: since Go 1.24 it ends the process instead.
	_, _ = rand.Read(random)
	return base64.StdEncoding.EncodeToString(random)
}

// Parse reads keys of 32 bytes in base64, separated by commas. An empty text is a ring without keys. The error says
// which key is wrong and nothing of its text.
func Parse(text string) (Ring, error) {
	var ring Ring
	if strings.TrimSpace(text) == "" {
		return ring, nil
	}
	for i, encoded := range strings.Split(text, ",") {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
		if err != nil || len(raw) != keyBytes {
			return Ring{}, fmt.Errorf("key %d is not %d bytes in base64", i+1, keyBytes)
		}
		opened, err := newKey(raw)
		if err != nil {
			return Ring{}, fmt.Errorf("key %d: %w", i+1, err)
		}
		ring.keys = append(ring.keys, opened)
	}
	return ring, nil
}

func newKey(raw []byte) (key, error) {
	block, err := aes.NewCipher(raw)
	if err != nil {
		return key{}, fmt.Errorf("use it for AES: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, fmt.Errorf("use it for GCM: %w", err)
	}
	digest := sha256.Sum256(append([]byte("simplevalidations key id "), raw...))
	return key{id: ID(digest[:IDBytes]), aead: aead}, nil
}

// IDs returns the ids of the keys, that of the sealing one first.
func (r Ring) IDs() []ID {
	ids := make([]ID, len(r.keys))
	for i, k := range r.keys {
		ids[i] = k.id
	}
	return ids
}

// Use says under which keys secrets are encrypted.
type Use struct {
	// Unknown are the ids of keys that the ring does not have: what they have encrypted cannot be read.
	Unknown []string
	// Outdated counts the secrets that are not encrypted under the first key.
	Outdated int
}

// Compare compares the keys under which so many secrets are encrypted with those of the ring.
func (r Ring) Compare(secrets map[ID]int) Use {
	var use Use
	known := r.IDs()
	for id, n := range secrets {
		if !slices.Contains(known, id) {
			use.Unknown = append(use.Unknown, id.String())
		}
		if len(known) == 0 || id != known[0] {
			use.Outdated += n
		}
	}
	slices.Sort(use.Unknown)
	return use
}

// Seal encrypts a secret for its binding under the first key. The error is ErrNoKey.
func (r Ring) Seal(secret []byte, binding Binding) ([]byte, error) {
	if len(r.keys) == 0 {
		return nil, ErrNoKey
	}
	first := r.keys[0]
	//nolint:gosec // G407: the nonce is not passed, it is chosen at random for each secret.
	return first.aead.Seal(bytes.Clone(first.id[:]), nil, secret, binding.associated()), nil
}

// Open decrypts a secret of the binding. The errors are ErrNoKey, ErrUnknownKey, and another one for a secret that was
// changed or belongs to another one.
func (r Ring) Open(sealed []byte, binding Binding) ([]byte, error) {
	if len(r.keys) == 0 {
		return nil, ErrNoKey
	}
	if len(sealed) < IDBytes {
		return nil, errors.New("the sealed secret is too short")
	}
	id := ID(sealed[:IDBytes])
	for _, k := range r.keys {
		if k.id != id {
			continue
		}
		secret, err := k.aead.Open(nil, nil, sealed[IDBytes:], binding.associated())
		if err != nil {
			return nil, fmt.Errorf("open the secret in %s of %s: %w", binding.Column, binding.OrgID, err)
		}
		return secret, nil
	}
	return nil, fmt.Errorf("%w (%s)", ErrUnknownKey, id)
}
