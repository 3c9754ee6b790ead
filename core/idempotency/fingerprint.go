package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// FingerprintVersion names the rules by which fingerprints are made. It changes whenever a request that was
// not changed would get another fingerprint.
const FingerprintVersion int16 = 2

// Digest is a SHA-256.
type Digest [32]byte

// Option is one option of a request that changes what is done. One that was not given is not listed.
type Option struct {
	Name, Value string
}

// Request is what a fingerprint is made of.
type Request struct {
	Method string
	// Endpoint is the endpoint's name and not its path, which has several forms.
	Endpoint string
	// Target is the id of what the request acts upon, however the path named it.
	Target string
	// Version is the version that the client asked for, as it was sent, where VersionGiven says that it was.
	Version      string
	VersionGiven bool
	// Options may come in any order.
	Options []Option
	// MediaType is the normalized type of the content and whatever else decides how Content was made.
	MediaType string
	Content   Digest
}

// Fingerprint tells a retry from another request under the same key.
type Fingerprint struct {
	Version int16
	// Sum covers everything; the others cover a part each, so that a refusal can say which part differs.
	Sum, Target, Content, Options Digest
}

// Fingerprint returns the request's fingerprint under the current rules. Equal requests have equal
// fingerprints in every process and release that has the same FingerprintVersion.
func (r Request) Fingerprint() Fingerprint {
	f := Fingerprint{
		Version: FingerprintVersion,
		Target:  r.targetDigest(),
		Content: newRecord("content").add("media_type", r.MediaType).add("digest", string(r.Content[:])).sum(),
		Options: r.optionsDigest(),
	}
	f.Sum = newRecord("request").
		add("target", string(f.Target[:])).
		add("content", string(f.Content[:])).
		add("options", string(f.Options[:])).
		sum()
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

func (r Request) targetDigest() Digest {
	target := newRecord("target").
		add("method", r.Method).
		add("endpoint", r.Endpoint).
		add("target", r.Target)
	if r.VersionGiven {
		target = target.add("version", r.Version)
	}
	return target.sum()
}

func (r Request) optionsDigest() Digest {
	sorted := slices.SortedFunc(slices.Values(r.Options), func(a, b Option) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
	options := newRecord("options")
	for _, option := range sorted {
		options = options.add(option.Name, option.Value)
	}
	return options.sum()
}

// record lists fields so that no two lists have the same bytes: every name and every value comes behind its
// length, and the first field tells records of different kinds apart.
type record []byte

func newRecord(kind string) record {
	return record(nil).add("simplevalidations.fingerprint", kind)
}

func (r record) add(name, value string) record {
	r = binary.BigEndian.AppendUint64(r, uint64(len(name)))
	r = append(r, name...)
	r = binary.BigEndian.AppendUint64(r, uint64(len(value)))
	return append(r, value...)
}

func (r record) sum() Digest {
	return sha256.Sum256(r)
}
