package s3test

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/internal/splice"
)

// Config returns settings for an AWS client of this server: its endpoint, a
// region, constant credentials and the server's own HTTP client, whose idle
// connections end with the server. S3 clients need UsePathStyle besides.
func (s *Server) Config() aws.Config {
	return aws.Config{
		Region:       region,
		Credentials:  credentials.NewStaticCredentialsProvider("s3test", "s3test", ""),
		BaseEndpoint: aws.String(s.URL),
		HTTPClient:   &http.Client{Transport: s.transport},

		// As config.LoadDefaultConfig has it; the zero values mean never.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
}

// Client returns an S3 client of this server.
func (s *Server) Client(options ...func(*s3.Options)) *s3.Client {
	pathStyle := func(o *s3.Options) { o.UsePathStyle = true }
	return s3.NewFromConfig(s.Config(), append([]func(*s3.Options){pathStyle}, options...)...)
}

// CreateBucket makes an empty bucket. A bucket of that name is an error.
func (s *Server) CreateBucket(name string) error {
	return s.store.createBucket(name)
}

// Put stores the bytes of body under the key without going through HTTP,
// making the bucket if there is none. It replaces an object of that name.
func (s *Server) Put(bucket, key string, body io.Reader) error {
	if err := s.store.createBucket(bucket); err != nil && !errors.Is(err, errBucketExists) {
		return err
	}
	if err := validKey(key); err != nil {
		return err
	}
	file, err := s.store.receive(body, nil)
	if err != nil {
		return err
	}
	return s.store.commit(bucket, file, &object{Key: key, ETag: quote(file.md5)}, conditions{})
}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxIdleConnsPerHost = 256
	t.IdleConnTimeout = 30 * time.Second
	splice.Under(t)
	return t
}
