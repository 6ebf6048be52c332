// Package s3client makes the S3 client of all commands from what the environment says.
package s3client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/platform/s3stream"
)

// Options are what commands choose. The zero value signs requests.
type Options struct {
	Anonymous bool   // send requests without a signature, as public buckets take them
	Endpoint  string // of the server; "" means what the configuration says
}

// connections are kept to S3 while nothing is asked, which is more than any command asks at a time
// unless it is told to.
const connections = 256

// New returns a client as the AWS configuration of the environment has it: its files and variables,
// such as AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL_S3. An endpoint of its own is addressed
// path-style; the region is us-east-1 where none is named.
func New(ctx context.Context, opts Options) (*s3.Client, error) {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if settings.Region == "" {
		settings.Region = "us-east-1"
	}
	return s3.NewFromConfig(settings, func(o *s3.Options) {
		if opts.Endpoint != "" {
			o.BaseEndpoint = aws.String(opts.Endpoint)
		}
		o.UsePathStyle = o.BaseEndpoint != nil
		if opts.Anonymous {
			o.Credentials = aws.AnonymousCredentials{}
		}
		// Not in the settings: there the SDK would put a dialer of its own over ours.
		if client, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
			o.HTTPClient = client.WithTransportOptions(tune)
		}
	}), nil
}

// tune readies a transport for many requests at a time, and for bytes that go into a pipe.
func tune(t *http.Transport) {
	t.MaxIdleConns, t.MaxIdleConnsPerHost = connections, connections
	s3stream.Spliceable(t)
}
