package s3stream

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/crc64nvme"
)

// A sum verifies a whole object, whatever answers its bytes come in. A nil sum
// does nothing.
type sum struct {
	known chan struct{} // closed when hash and want are set, or never will be; nil where they are
	hash  hash.Hash     // nil where S3 has no checksum of the whole object
	want  string        // base64
}

// newSum returns the sum of an object that comes in several ranges, of which S3
// gives no checksums: it must be asked for.
func newSum() *sum { return &sum{known: make(chan struct{})} }

// patience bounds what a checksum may delay its object.
const patience = 5 * time.Second

// ask asks S3 for the checksum. That it cannot be had is no error.
func (s *sum) ask(ctx context.Context, client Client, o *Object, opts Options) {
	defer close(s.known)
	headCtx, cancel := context.WithTimeout(ctx, min(patience, opts.Idle))
	defer cancel()
	out, err := client.HeadObject(headCtx, &s3.HeadObjectInput{
		Bucket: &o.Bucket, Key: &o.Key, IfMatch: optional(o.ETag), ChecksumMode: types.ChecksumModeEnabled,
	}, once)
	if ctx.Err() != nil {
		return // nobody wants it any more
	}
	if err != nil {
		opts.Logger.WarnContext(ctx, "no checksum", "bucket", o.Bucket, "key", o.Key, "error", err)
		return
	}
	s.set(checksums{o.ETag, out.ChecksumType, out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ChecksumSHA256, out.ChecksumSHA1})
}

// checksums are those of an answer, in base64.
type checksums struct {
	etag                                   string
	of                                     types.ChecksumType
	crc64NVME, crc32C, crc32, sha256, sha1 *string
}

// sum returns the sum of the object that the checksums are of, nil if there are none.
func (c checksums) sum() *sum {
	s := &sum{}
	if s.set(c); s.hash == nil {
		return nil
	}
	return s
}

// set chooses the checksum that is computed fastest.
func (s *sum) set(c checksums) {
	uploadedInParts := strings.Contains(c.etag, "-")
	if c.of == types.ChecksumTypeComposite || c.of == "" && uploadedInParts { // a checksum of checksums
		return
	}
	for _, have := range []struct {
		value *string
		hash  func() hash.Hash
	}{
		{c.crc64NVME, func() hash.Hash { return crc64nvme.New() }},
		{c.crc32C, func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
		{c.crc32, func() hash.Hash { return crc32.NewIEEE() }},
		{c.sha256, sha256.New},
		{c.sha1, sha1.New},
	} {
		if have.value != nil && !strings.Contains(*have.value, "-") { // before there was a ChecksumType
			s.want, s.hash = *have.value, have.hash()
			return
		}
	}
}

// write adds the next bytes of the object.
func (s *sum) write(p []byte) {
	if s != nil && s.hash != nil {
		s.hash.Write(p)
	}
}

// check compares, when all bytes have been written.
func (s *sum) check() error {
	if s == nil || s.hash == nil {
		return nil
	}
	if got := base64.StdEncoding.EncodeToString(s.hash.Sum(nil)); got != s.want {
		return fmt.Errorf("%w: S3 has %s, its bytes give %s", ErrChecksum, s.want, got)
	}
	return nil
}

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
