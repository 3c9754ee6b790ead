package idempotency

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// FingerprintVersion names the rules by which fingerprints are made. Raise it whenever the same request would get
// another fingerprint than before: records of other versions are then never compared, and never taken for a mismatch.
const FingerprintVersion int16 = 2

// Digest is a SHA-256.
type Digest [32]byte

// ScanBytes reads a digest from the database. It is the driver's interface for values that need no copy.
func (d *Digest) ScanBytes(bytes []byte) error {
	copy(d[:], bytes)
	return nil
}

// Option is one option of a request that changes what is done. An option that was not given is not listed, so that a
// new option leaves the fingerprints of requests without it as they are.
type Option struct {
	Name, Value string
}

// Request is what a fingerprint is made of.
type Request struct {
	Method string
	// Endpoint is the endpoint's name and not its path, which has several forms.
	Endpoint string
	// Target is the id of what the request acts upon, whether the path has its id or its slug.
	Target string
	// Version is the version that the client asked for, as it was sent. It counts only if VersionGiven is set.
	Version      string
	VersionGiven bool
	// Options are sorted for the fingerprint; their order means nothing.
	Options []Option
	// MediaType is the normalized type of the content, with whatever else decides how Content was digested.
	MediaType string
	Content   Digest
}

// Fingerprint distinguishes a retry from another request under the same key.
type Fingerprint struct {
	Version int16
	// Sum covers everything. The others cover a part each, so that a refusal can say which part differs without storing
	// the request.
	Sum, Target, Content, Options Digest
}

// Fingerprint returns the request's fingerprint under the current rules. Equal requests have equal
// fingerprints in every process and release that has the same FingerprintVersion.
func (r Request) Fingerprint() Fingerprint {
	// A version that was not given differs from every version, also from the one that it resolves to.
	target := encode("target").add("method", r.Method).add("endpoint", r.Endpoint).add("target", r.Target)
	if r.VersionGiven {
		target = target.add("version", r.Version)
	}
	// Options count in the order of their names, whatever order the client has sent them in.
	sorted := slices.SortedFunc(slices.Values(r.Options), func(a, b Option) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	})
	options := encode("options")
	for _, option := range sorted {
		options = options.add(option.Name, option.Value)
	}
	f := Fingerprint{
		Version: FingerprintVersion,
		Target:  sha256.Sum256(target),
		Content: sha256.Sum256(encode("content").add("media_type", r.MediaType).add("digest", string(r.Content[:]))),
		Options: sha256.Sum256(options),
	}
	f.Sum = sha256.Sum256(encode("request").
		add("target", string(f.Target[:])).
		add("content", string(f.Content[:])).
		add("options", string(f.Options[:])))
	return f
}

// Differs names the parts in which two fingerprints of one version differ: the target by the given noun, "content" and
// "options", in this order. It is empty where they are equal.
func (f Fingerprint) Differs(other Fingerprint, target string) []string {
	var parts []string
	if f.Target != other.Target {
		parts = append(parts, target)
	}
	if f.Content != other.Content {
		parts = append(parts, "content")
	}
	if f.Options != other.Options {
		parts = append(parts, "options")
	}
	return parts
}

// encoding lists fields so that no two lists have the same bytes: every name and value follows its length, and the
// first field separates encodings of different kinds. Joining the fields with a separator would let a client move text
// from one field to the next without a change of the digest.
type encoding []byte

func encode(kind string) encoding {
	return make(encoding, 0, usualEncoding).add("simplevalidations.fingerprint", kind)
}

// usualEncoding is enough for what is digested, unless texts of the client are long.
const usualEncoding = 512

func (e encoding) add(name, value string) encoding {
	e = binary.BigEndian.AppendUint64(e, uint64(len(name)))
	e = append(e, name...)
	e = binary.BigEndian.AppendUint64(e, uint64(len(value)))
	return append(e, value...)
}
