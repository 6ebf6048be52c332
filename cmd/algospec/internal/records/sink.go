package records

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/s3client"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/recordio/convert"
)

// A sink is where files are written to, each whole or not at all.
type sink interface {
	// create makes the file hold what content writes.
	create(ctx context.Context, name string, content content) error
	// prefix returns what stands before the names of the files.
	prefix() string
}

// newSink returns the sink that is a directory or an S3 prefix. A directory is made; shards of an
// earlier run there, which would be read along with new ones, are an error.
func newSink(ctx context.Context, out string) (sink, error) {
	if rest, ok := strings.CutPrefix(out, "s3://"); ok {
		bucket, key, _ := strings.Cut(rest, "/")
		if bucket == "" {
			return nil, fmt.Errorf("%s: not of the form s3://bucket/prefix", console.Printable(out))
		}
		if key != "" && !strings.HasSuffix(key, "/") {
			key += "/"
		}
		client, err := s3client.New(ctx, s3client.Options{})
		if err != nil {
			return nil, err
		}
		b := bucketSink{client, bucket, key}
		return b, b.checkEmpty(ctx)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	for _, pattern := range []string{"matrix_*.pbr", convert.ManifestName} {
		if old, _ := filepath.Glob(filepath.Join(escape(out), pattern)); len(old) > 0 {
			return nil, thereAreShards(out, filepath.Base(old[0]))
		}
	}
	return dirSink(out), nil
}

func thereAreShards(out, name string) error {
	return fmt.Errorf("%s: there are shards already, such as %s", console.Printable(out), console.Printable(name))
}

// escape returns a pattern that matches the path alone.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// A dirSink is a directory.
type dirSink string

func (d dirSink) create(_ context.Context, name string, content content) error {
	return atomicfile.Write(filepath.Join(string(d), name), buffered(content))
}

func (d dirSink) prefix() string {
	dir, err := filepath.Abs(string(d))
	if err != nil {
		dir = string(d)
	}
	return filepath.ToSlash(dir) + "/"
}

// buffered returns content that writes less often.
func buffered(c content) content {
	return func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 256<<10)
		return errors.Join(c(b), b.Flush())
	}
}

// A bucketSink is an S3 prefix.
type bucketSink struct {
	client      *s3.Client
	bucket, key string
}

// checkEmpty checks that there are no shards.
func (b bucketSink) checkEmpty(ctx context.Context) error {
	for _, begin := range []string{"matrix_", convert.ManifestName} {
		pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{
			Bucket: aws.String(b.bucket), Prefix: aws.String(b.key + begin),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("%s: looking for shards: %w", console.Printable(b.prefix()), err)
			}
			for _, object := range page.Contents {
				name := strings.TrimPrefix(aws.ToString(object.Key), b.key)
				shard, _ := path.Match("matrix_*.pbr", name)
				if shard || name == convert.ManifestName {
					return thereAreShards(b.prefix(), name)
				}
			}
		}
	}
	return nil
}

func (b bucketSink) create(ctx context.Context, name string, content content) error {
	body, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		_, err := buffered(content).WriteTo(w)
		w.CloseWithError(err)
		written <- err
	}()
	_, err := transfermanager.New(b.client).UploadObject(ctx, &transfermanager.UploadObjectInput{
		Bucket: aws.String(b.bucket), Key: aws.String(b.key + name), Body: body,
	})
	body.CloseWithError(errUploadEnded) // which ends the writer, too, if it is not through
	if source := <-written; source != nil && !errors.Is(source, errUploadEnded) {
		return source
	}
	return err
}

var errUploadEnded = errors.New("the upload has ended")

func (b bucketSink) prefix() string { return "s3://" + b.bucket + "/" + b.key }
