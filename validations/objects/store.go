// Package objects keeps the chunks of large documents in an object store beside the database.
//
// The rows of a chunk and of its upload decide what there is; an object is only the chunk's bytes. An object is put
// after the row of its upload is committed and before that of its chunk, and is deleted by the sweep alone, once its
// upload has no row (Sweep).
package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// ChunkBytes is the size of a chunk in the store. Each is put by one request, so none is ever there in part.
const ChunkBytes = 1 << 20

const (
	// timeout bounds each use of the store, with its retries.
	timeout = 10 * time.Second
	// tries is how often the library sends a request.
	tries = 3
)

var (
	// ErrUnavailable means that the store was not reached, or has refused. The cause may pass.
	ErrUnavailable = errors.New("the object store is unavailable")
	// ErrDamaged means that an object is not there, or does not have its digest.
	ErrDamaged = errors.New("the object store does not have what was put into it")
	// ErrNoStore means that the database has documents in an object store, and this process was given none.
	ErrNoStore = fmt.Errorf("%w: SV_CONTENT_URL is not set", ErrUnavailable)
	errURL     = errors.New("write s3://KEY:SECRET@HOST/BUCKET, with ?region= and &tls=off as needed")
)

// Store is a bucket with the chunks of one database. A nil Store has none: documents stay in the database.
type Store struct {
	client minio.Core
	bucket string
}

// Open reads the address of a store, s3://KEY:SECRET@HOST/BUCKET?region=REGION&tls=off. Without a key it takes one
// from the environment, or from the machine that it runs on. Without an address there is no store.
func Open(address string) (*Store, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // a nil Store is one of the two kinds
	}
	at, err := url.Parse(address)
	if err != nil {
		return nil, errURL
	}
	bucket, query := strings.Trim(at.Path, "/"), at.Query()
	tls := query.Get("tls")
	if at.Scheme != "s3" || at.Host == "" || bucket == "" || tls != "" && tls != "off" {
		return nil, errURL
	}
	options := &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: tls == "", Region: query.Get("region"), MaxRetries: tries,
	}
	if secret, isSet := at.User.Password(); isSet {
		options.Creds = credentials.NewStaticV4(at.User.Username(), secret, "")
	}
	client, err := minio.New(at.Host, options)
	if err != nil {
		return nil, fmt.Errorf("open the object store: %w", err)
	}
	return &Store{client: minio.Core{Client: client}, bucket: bucket}, nil
}

// Chunk is a part of an upload whose bytes are an object.
type Chunk struct {
	OrgID, UploadID uuid.UUID
	FirstByte, Size int64
	SHA256          []byte
}

// NewChunk makes the chunk of an upload that begins at firstByte.
func NewChunk(orgID, uploadID uuid.UUID, firstByte int64, content []byte) Chunk {
	sum := sha256.Sum256(content)
	return Chunk{orgID, uploadID, firstByte, int64(len(content)), sum[:]}
}

// name orders objects as rows are ordered. With the digest in it, whatever is put late or twice is the same bytes.
func (c Chunk) name() string {
	return fmt.Sprintf("%s/%s/%016x-%s", c.OrgID, c.UploadID, c.FirstByte, hex.EncodeToString(c.SHA256))
}

// uploadOf reads the upload of a chunk from the name of its object. It returns false for what is no chunk.
func uploadOf(name string) (Chunk, bool) {
	org, rest, _ := strings.Cut(name, "/")
	upload, _, isChunk := strings.Cut(rest, "/")
	orgID, err := uuid.Parse(org)
	uploadID, uploadErr := uuid.Parse(upload)
	return Chunk{OrgID: orgID, UploadID: uploadID}, isChunk && err == nil && uploadErr == nil
}

// Put stores the bytes of a chunk. The row of its upload must have been committed.
func (s *Store) Put(ctx context.Context, c Chunk, content []byte) error {
	return s.put(ctx, c.name(), content, c.SHA256)
}

func (s *Store) put(ctx context.Context, name string, content, digest []byte) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The store compares the digest in the signature with what it has received.
	_, err := s.client.PutObject(ctx, s.bucket, name, bytes.NewReader(content), int64(len(content)), "",
		hex.EncodeToString(digest), minio.PutObjectOptions{DisableContentSha256: true})
	return unavailable("put", name, err)
}

// Get returns the bytes of a chunk, and ErrDamaged if they are not those that were put.
func (s *Store) Get(ctx context.Context, c Chunk) ([]byte, error) {
	if s == nil {
		return nil, ErrNoStore
	}
	content, err := s.get(ctx, c.name(), c.Size)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], c.SHA256) {
		return nil, fmt.Errorf("%w: %s has another digest", ErrDamaged, c.name())
	}
	return content, nil
}

// get reads an object up to a size.
func (s *Store) get(ctx context.Context, name string, size int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, _, _, err := s.client.GetObject(ctx, s.bucket, name, minio.GetObjectOptions{})
	if isMissing(err) {
		return nil, fmt.Errorf("%w: %s is not there", ErrDamaged, name)
	}
	if err != nil {
		return nil, unavailable("get", name, err)
	}
	defer func() { _ = body.Close() }() // It was only read.
	content := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = content.ReadFrom(io.LimitReader(body, size))
	return content.Bytes(), unavailable("get", name, err)
}

// Check puts, gets and deletes an object.
func (s *Store) Check(ctx context.Context) error {
	content := []byte(uuid.NewString())
	sum := sha256.Sum256(content)
	name := "check/" + string(content)
	if err := s.put(ctx, name, content, sum[:]); err != nil {
		return err
	}
	found, err := s.get(ctx, name, int64(len(content)))
	if err == nil && !bytes.Equal(found, content) {
		err = fmt.Errorf("%w: %s", ErrDamaged, name)
	}
	return errors.Join(err, unavailable("delete", name,
		s.client.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})))
}

func isMissing(err error) bool {
	answer := minio.ToErrorResponse(err)
	return answer.StatusCode == http.StatusNotFound && answer.Code == minio.NoSuchKey
}

// unavailable does not wrap the cause: the io.EOF of a broken connection is not the end of a document.
func unavailable(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s %s: %s", ErrUnavailable, what, name, err.Error())
}
