package media

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// ObjectStoreConfig says where a bucket is and who asks. The bucket must exist: whoever pays for it makes it.
type ObjectStoreConfig struct {
	Endpoint  string // host:port
	Secure    bool   // by TLS
	Region    string // "us-east-1" unless told
	Bucket    string
	Prefix    string // of all keys, such as "twinlog/"; empty: the bucket is the medium's alone
	AccessKey string
	SecretKey string
	// Transport carries the requests; a node gives one that dials through its network. Needed.
	Transport http.RoundTripper
	// Attempts bounds how often a request is made in all when the store is overloaded or a connection breaks. Default 4.
	Attempts int
}

// LargestObject is what S3 takes in one piece, in bytes.
const LargestObject = 5 << 30

// ObjectStore is a Medium in a bucket of an object store that speaks S3. A file is one object that is sent by one request, however large
// it is: the store keeps an object when it has all of its bytes, and nothing of it before. So there are no parts of unfinished uploads,
// which nobody would see and somebody would pay for.
type ObjectStore struct {
	core     *minio.Core
	bucket   string
	prefix   string
	attempts int
}

// OpenObjectStore returns the medium in a bucket. It asks nothing of the store yet.
func OpenObjectStore(config ObjectStoreConfig) (*ObjectStore, error) {
	if config.Transport == nil {
		return nil, fmt.Errorf("open the bucket %s at %s: there is no transport", config.Bucket, config.Endpoint)
	}
	if config.Attempts <= 0 {
		config.Attempts = 4
	}
	if config.Region == "" {
		config.Region = "us-east-1"
	}
	core, err := minio.NewCore(config.Endpoint, &minio.Options{
		Creds:  credentials.NewStaticV4(config.AccessKey, config.SecretKey, ""),
		Secure: config.Secure, Region: config.Region, Transport: config.Transport,
		MaxRetries: 1, // what is tried again is decided here, see attempt
	})
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s at %s: %w", config.Bucket, config.Endpoint, err)
	}
	return &ObjectStore{core: core, bucket: config.Bucket, prefix: config.Prefix, attempts: config.Attempts}, nil
}

// Put sends a content that can be read at any place (an io.ReaderAt that seeks, such as a file or a section of one) with its MD5 sum, so
// that the store refuses what was changed on the way, and sends it again where that may help. It sends another content once, unsummed.
func (o *ObjectStore) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if err := checkName(name); err != nil {
		return o.explain("put", name, err)
	}
	if size < 0 || size > LargestObject {
		return o.explain("put", name, fmt.Errorf("%d bytes cannot be one object, which has %d at most; roll segments earlier", size, int64(LargestObject)))
	}
	section, err := sectionOf(content, size)
	if err != nil {
		return o.explain("put", name, err)
	}
	if section == nil {
		stream, err := newWhole(content, size)
		if err == nil {
			err = o.send(ctx, name, stream, size, "")
		}
		return o.explain("put", name, err)
	}
	sum := md5.New()
	if _, err := io.Copy(sum, &withContext{ctx, section}); err != nil {
		return o.explain("put", name, err)
	}
	encoded := base64.StdEncoding.EncodeToString(sum.Sum(nil))
	return o.attempt(ctx, "put", name, func() error {
		// A reader of its own for each attempt: a transport may still read from the last one after it has failed.
		return o.send(ctx, name, io.NewSectionReader(section, 0, size), size, encoded)
	})
}

// send makes the one request. The payload is not part of the signature: signed, it would be framed in chunks, which many stores that speak
// S3 do not take.
func (o *ObjectStore) send(ctx context.Context, name string, content io.Reader, size int64, md5Sum string) error {
	_, err := o.core.PutObject(ctx, o.bucket, o.prefix+name, content, size, md5Sum, "", minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableContentSha256: true, DisableMultipart: true,
	})
	return err
}

// ReadAt asks for the range alone.
func (o *ObjectStore) ReadAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	if err := errors.Join(ctx.Err(), checkName(name)); err != nil || len(p) == 0 {
		return 0, err
	}
	end := false
	err = o.attempt(ctx, "read", name, func() (err error) {
		n, end, err = o.readRange(ctx, name, p, offset)
		return err
	})
	if err == nil && end {
		err = io.EOF
	}
	return n, err
}

// readRange reads len(p) bytes, or fewer where the object ends.
func (o *ObjectStore) readRange(ctx context.Context, name string, p []byte, offset int64) (n int, end bool, err error) {
	var options minio.GetObjectOptions
	if err := options.SetRange(offset, offset+int64(len(p))-1); err != nil {
		return 0, false, err
	}
	body, _, header, err := o.core.GetObject(ctx, o.bucket, o.prefix+name, options)
	var refusal minio.ErrorResponse
	if errors.As(err, &refusal) && refusal.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer body.Close()
	// What the answer says that it has tells the object's end from a connection that broke off.
	var first, last int64
	has := header.Get("Content-Range")
	if _, err := fmt.Sscanf(has, "bytes %d-%d/", &first, &last); err != nil || first != offset || last < first || last-first >= int64(len(p)) {
		return 0, false, fmt.Errorf("asked for %d bytes from byte %d on, the store says that it answers with %q: it cannot serve ranges", len(p), offset, has)
	}
	if n, err = io.ReadFull(body, p[:last-first+1]); err != nil {
		return n, false, fmt.Errorf("the connection broke off at byte %d: %w", offset+int64(n), io.ErrUnexpectedEOF)
	}
	return n, n < len(p), nil
}

func (o *ObjectStore) Size(ctx context.Context, name string) (size int64, err error) {
	if err := checkName(name); err != nil {
		return 0, o.explain("look up", name, err)
	}
	err = o.attempt(ctx, "look up", name, func() error {
		info, err := o.core.StatObject(ctx, o.bucket, o.prefix+name, minio.StatObjectOptions{})
		size = info.Size
		return err
	})
	return size, err
}

func (o *ObjectStore) List(ctx context.Context, prefix string) (names []string, err error) {
	err = o.attempt(ctx, "list", prefix, func() error {
		names = nil
		for object := range o.core.ListObjectsIter(ctx, o.bucket, minio.ListObjectsOptions{Prefix: o.prefix + prefix, Recursive: true}) {
			if object.Err != nil {
				return object.Err
			}
			names = append(names, strings.TrimPrefix(object.Key, o.prefix))
		}
		return ctx.Err() // which ends the listing early, too
	})
	slices.Sort(names)
	return names, err
}

func (o *ObjectStore) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return o.explain("remove", name, err)
	}
	err := o.attempt(ctx, "remove", name, func() error {
		return o.core.RemoveObject(ctx, o.bucket, o.prefix+name, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveUnfinished has nothing to do: a Put that is interrupted leaves nothing.
func (o *ObjectStore) RemoveUnfinished(ctx context.Context, _ string) error { return ctx.Err() }

const (
	firstPause   = 100 * time.Millisecond // before the second attempt; it doubles
	longestPause = 2 * time.Second
)

// attempt makes a request until it succeeds, until nothing is to be hoped for, until the attempts are used up, or until ctx ends.
func (o *ObjectStore) attempt(ctx context.Context, doing, name string, request func() error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := ctx.Err()
		if err == nil {
			err = request()
		}
		if ended := ctx.Err(); err != nil && ended != nil {
			return o.explain(doing, name, ended) // what the library says then is beside the point
		}
		if err == nil || !mayPass(err) {
			return o.explain(doing, name, err)
		}
		if attempt >= o.attempts {
			err = fmt.Errorf("%d attempts failed, the last one: %w", attempt, err)
			if !answered(err) {
				err = fmt.Errorf("%w; check that the object store at %s runs and can be reached", err, o.core.EndpointURL().Host)
			}
			return o.explain(doing, name, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

// answered tells whether the store answered at all.
func answered(err error) bool { return errors.As(err, new(minio.ErrorResponse)) }

// mayPass tells whether the same request may succeed a moment later: the store is overloaded or the connection broke.
func mayPass(err error) bool {
	var refusal minio.ErrorResponse
	if !errors.As(err, &refusal) {
		return true // no answer at all
	}
	return refusal.StatusCode >= 500 || slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests}, refusal.StatusCode) ||
		slices.Contains([]string{"BadDigest", "RequestTimeout", "SlowDown"}, refusal.Code)
}

// explain says what was being done to what, and what can be done about it.
func (o *ObjectStore) explain(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	advice := ""
	var refusal minio.ErrorResponse
	errors.As(err, &refusal)
	switch {
	case refusal.Code == "NoSuchKey":
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case refusal.Code == "NoSuchBucket":
		advice = "; make the bucket, or correct its name"
	case refusal.StatusCode == http.StatusForbidden:
		advice = "; check the keys, and what they may do in this bucket"
	}
	return fmt.Errorf("%s %s in the bucket %s: %w%s", doing, o.prefix+name, o.bucket, err, advice)
}
