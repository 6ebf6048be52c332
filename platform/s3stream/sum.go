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

// A sum verifies an object that comes in several ranges, of which S3 gives no
// checksums; what comes in one answer the SDK verifies. A nil sum does nothing.
type sum struct {
	known chan struct{} // closed when hash and want are set, or never will be
	hash  hash.Hash     // nil where S3 has no checksum of the whole object
	want  string        // base64
}

func newSum() *sum { return &sum{known: make(chan struct{})} }

// ask asks S3 for the checksum. That it cannot be had is no error.
func (s *sum) ask(ctx context.Context, client Client, o *Object, patience time.Duration) {
	defer close(s.known)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &o.Bucket, Key: &o.Key, IfMatch: optional(o.ETag), ChecksumMode: types.ChecksumModeEnabled,
	})
	if err != nil || out.ChecksumType == types.ChecksumTypeComposite { // a checksum of checksums
		return
	}
	for _, have := range []struct {
		value *string
		hash  func() hash.Hash
	}{
		{out.ChecksumCRC64NVME, func() hash.Hash { return crc64nvme.New() }},
		{out.ChecksumCRC32C, func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
		{out.ChecksumCRC32, func() hash.Hash { return crc32.NewIEEE() }},
		{out.ChecksumSHA256, sha256.New},
		{out.ChecksumSHA1, sha1.New},
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
	if s.hash == nil {
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
