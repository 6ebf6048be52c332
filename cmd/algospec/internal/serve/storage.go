package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/s3client"
	"github.com/algospec/algospec/platform/s3test"
)

// The values of --s3 that are no URL.
const (
	embedded   = "embedded"
	configured = "aws"
)

// A storage is the S3 server that the platform works with.
type storage struct {
	client   *s3.Client
	endpoint string         // that clients are told of; "" leaves them what they have
	server   *s3test.Server // the embedded one, or nil
	bucket   string         // the SageMaker Python SDK's default; "" without an embedded server
}

// openStorage starts the embedded server in dir, with a bucket for the SDK, or finds the other one.
func (p *Platform) openStorage(ctx context.Context, dir, bucket string) (*storage, error) {
	if p.S3 != embedded {
		return p.otherStorage(ctx)
	}
	server, err := s3test.Start(s3test.Options{Dir: dir, Addr: p.storageAddress()})
	if err != nil {
		return nil, taken(err, "--s3-listen")
	}
	s := &storage{client: server.Client(), endpoint: server.URL, server: server, bucket: bucket}
	_, err = s.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	_, owned := errors.AsType[*types.BucketAlreadyOwnedByYou](err)
	if _, exists := errors.AsType[*types.BucketAlreadyExists](err); err != nil && !owned && !exists {
		return nil, errors.Join(err, server.Close())
	}
	return s, nil
}

// storageAddress is where the embedded server listens.
func (p *Platform) storageAddress() string {
	if p.S3Listen != "" {
		return p.S3Listen
	}
	_, port, _ := net.SplitHostPort(p.Listen)
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || n == 65535 {
		return "127.0.0.1:0"
	}
	return "127.0.0.1:" + strconv.FormatUint(n+1, 10)
}

func (p *Platform) otherStorage(ctx context.Context) (*storage, error) {
	s := new(storage)
	if p.S3 != configured {
		address, err := url.Parse(p.S3)
		if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
			return nil, console.Usagef("--s3 %q: want embedded, aws, or a URL such as http://127.0.0.1:9000", p.S3)
		}
		s.endpoint = strings.TrimRight(p.S3, "/")
	}
	client, err := s3client.New(ctx, s3client.Options{Endpoint: s.endpoint})
	if err != nil {
		return nil, fmt.Errorf("--s3 %s: %w", p.S3, err)
	}
	s.client = client
	return s, nil
}

func (s *storage) close() error {
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}
