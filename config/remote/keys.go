package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

const (
	// nameDigits is how much of a digest is in a key that is made of a name.
	nameDigits = 12
	// resumable is how long a stored key certainly still stands for its run: keys live for a day.
	resumable = 23 * time.Hour
)

// keptKey is a key in a file, so that it outlives this process. Without a file the caller keeps it.
type keptKey struct {
	file string
}

// keptStart is what is in the file.
type keptStart struct {
	SchemaVersion int       `json:"schema_version"`
	Key           string    `json:"key"`
	Document      string    `json:"document"`
	Workflow      string    `json:"workflow"`
	At            time.Time `json:"at"`
}

// keep gives the start its key: that of --key, that of --key-prefix or the job, the one that was kept before, or a new
// one, which is on the disk when keep returns.
func (r *running) keep(source cli.Source, request *client.StartRequest) (keptKey, error) {
	digest, err := r.digest(source, *request)
	if err != nil {
		return keptKey{}, err
	}
	request.Key = cmp.Or(r.key, r.namedKey(digest))
	if request.Key != "" {
		return keptKey{}, nil
	}
	name := r.userFile("XDG_STATE_HOME", filepath.Join(".local", "state"), "runs", digest+".json")
	if name == "" {
		return keptKey{}, misuse("there is no directory to store the key in: set HOME or XDG_STATE_HOME, or pass --key")
	}
	kept := keptKey{file: name}
	earlier, found, err := kept.read()
	switch {
	case err != nil:
		return keptKey{}, err
	case found && r.resume && time.Since(earlier.At) > resumable:
		return keptKey{}, misuse("the start of %s is too old to be resumed: its key %s may have expired; "+
			"look for its run with: simplevalidations runs list --key %s", source.Name, earlier.Key, earlier.Key)
	case found && r.resume:
		request.Key = earlier.Key
		return kept, nil
	case found:
		r.progress.say("an earlier start of %s did not finish; --resume resumes it, this is a new start", source.Name)
	}
	id := core.NewID()
	request.Key = id.String()
	return kept, kept.write(keptStart{
		SchemaVersion: schemaVersion, Key: request.Key, Document: source.Name, Workflow: r.workflow.Slug,
		At: time.Now(),
	})
}

// digest covers everything that makes two starts the same request.
func (r *running) digest(source cli.Source, request client.StartRequest) (string, error) {
	options, err := r.options(request.Filename, request.MediaType)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.WriteString(sum, options+"\x00"); err != nil {
		return "", fmt.Errorf("digest the options: %w", err)
	}
	if _, err := io.Copy(sum, io.NewSectionReader(source, 0, source.Size)); err != nil {
		return "", misuse("read %s: %v", source.Name, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// namedKey is the key of a document where a name for the work is known: --key-prefix, or the job of GitHub Actions or
// GitLab CI. A new attempt of a job is a new key.
func (r *running) namedKey(digest string) string {
	prefix := cmp.Or(r.keyPrefix, r.jobName())
	if prefix == "" {
		return ""
	}
	return prefix + "-" + r.workflow.Slug + "-" + digest[:nameDigits]
}

func (r *running) jobName() string {
	run, attempt := r.Getenv("GITHUB_RUN_ID"), r.Getenv("GITHUB_RUN_ATTEMPT")
	if r.Getenv("GITLAB_CI") == "true" {
		run, attempt = r.Getenv("CI_PIPELINE_ID"), r.Getenv("CI_JOB_ID")
	}
	if run == "" || attempt == "" {
		return ""
	}
	return "ci-" + run + "-" + attempt
}

func (k keptKey) read() (keptStart, bool, error) {
	var kept keptStart
	content, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, false, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	if err != nil {
		return kept, false, misuse("read the stored key: %v; delete %s to start over", err, k.file)
	}
	return kept, true, nil
}

// write has the key on the disk, with its name, before it returns.
func (k keptKey) write(kept keptStart) error {
	content, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	if err := cli.WriteDurably(k.file, content, os.Rename); err != nil {
		return misuse("store the key: %v; or pass --key", err)
	}
	return nil
}

// forget removes the file of a start that is over.
func (k keptKey) forget() error {
	if k.file == "" {
		return nil
	}
	if err := os.Remove(k.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the key: %w", err)
	}
	return nil
}
