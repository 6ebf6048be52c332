package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/s3client"
	"github.com/algospec/algospec/platform/s3test"
)

// bucket holds, in the S3 server of a job whose data are here, the channels and the output.
const bucket = "local"

// A staged is where the job's data are.
type staged struct {
	client *s3.Client
	server *s3test.Server // of a job whose data are here; else nil
	output string         // the directory that the output goes to; "" where that stays in S3
}

func (d *staged) close() {
	if d.server != nil {
		d.server.Close()
	}
}

// stage readies the data: those here are copied into an S3 server, and the request is told so.
func (c *Run) stage(ctx context.Context, request *sagemaker.CreateTrainingJobInput, streams console.Streams) (_ *staged, err error) {
	if request.OutputDataConfig == nil {
		request.OutputDataConfig = new(types.OutputDataConfig)
	}
	out := request.OutputDataConfig
	if c.Output != "" {
		out.S3OutputPath = aws.String(c.Output)
	}
	here, there := split(request)
	if len(there) > 0 {
		if len(here) > 0 {
			return nil, console.Usagef("%s is here and %s is in S3: all must be in one place", here[0], there[0])
		}
		if out.S3OutputPath == nil {
			return nil, console.Usagef("--output: want s3://bucket/prefix, as %s is in S3", there[0])
		}
		client, err := s3client.New(ctx, s3client.Options{})
		return &staged{client: client}, err
	}
	d := &staged{output: cmp.Or(aws.ToString(out.S3OutputPath), ".")}
	if d.server, err = s3test.Start(s3test.Options{}); err != nil {
		return nil, err
	}
	d.client = d.server.Client()
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if err := d.server.CreateBucket(bucket); err != nil {
		return nil, err
	}
	out.S3OutputPath = aws.String("s3://" + bucket + "/output")
	return d, d.copyChannels(ctx, request.InputDataConfig, streams)
}

// split tells what of a job's data is here and what is in S3.
func split(request *sagemaker.CreateTrainingJobInput) (here, there []string) {
	sort := func(what, uri string) {
		if strings.HasPrefix(uri, "s3://") {
			there = append(there, what)
		} else if uri != "" {
			here = append(here, what)
		}
	}
	for _, c := range request.InputDataConfig {
		if c.DataSource != nil && c.DataSource.S3DataSource != nil {
			sort("channel "+aws.ToString(c.ChannelName), aws.ToString(c.DataSource.S3DataSource.S3Uri))
		}
	}
	sort("the output", aws.ToString(request.OutputDataConfig.S3OutputPath))
	if request.CheckpointConfig != nil {
		sort("the checkpoints", aws.ToString(request.CheckpointConfig.S3Uri))
	}
	return here, there
}

// A localFile is to become an object.
type localFile struct {
	path, key string
	size      int64
}

// copyChannels copies the files of channels into the server.
func (d *staged) copyChannels(ctx context.Context, channels []types.Channel, streams console.Streams) error {
	var files []localFile
	var total int64
	for _, c := range channels {
		if c.DataSource == nil || c.DataSource.S3DataSource == nil {
			continue
		}
		name, source := aws.ToString(c.ChannelName), c.DataSource.S3DataSource
		if source.S3DataType != types.S3DataTypeS3Prefix {
			return console.Usagef("channel %s: type %s: only for data in S3", name, source.S3DataType)
		}
		found, err := localFiles(aws.ToString(source.S3Uri), name)
		if err != nil {
			return console.StatusError{Status: console.ExitUsage, Err: fmt.Errorf("channel %s: %w", name, err)}
		}
		for _, f := range found {
			total += f.size
		}
		files = append(files, found...)
		source.S3Uri = aws.String("s3://" + bucket + "/" + name + "/")
	}
	progress := console.NewProgress(streams, "copying", total)
	defer progress.Done()
	for _, f := range files {
		if err := d.copyFile(ctx, f, progress); err != nil {
			return err
		}
	}
	return nil
}

func (d *staged) copyFile(ctx context.Context, f localFile, progress *console.Progress) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	stop := context.AfterFunc(ctx, func() { file.Close() })
	defer stop()
	if err := d.server.Put(bucket, f.key, progress.Reader(struct{ io.Reader }{file})); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// localFiles returns a file, or all that a directory holds at any depth, links followed only to files.
func localFiles(root, channel string) (files []localFile, err error) {
	add := func(at, key string) error {
		info, err := os.Stat(at)
		switch {
		case err != nil:
			return err
		case info.IsDir(): // behind a link
			return nil
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s: not a regular file", at)
		}
		files = append(files, localFile{at, path.Join(channel, key), info.Size()})
		return nil
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		err := add(root, filepath.Base(root))
		return files, err
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		key, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return add(at, filepath.ToSlash(key))
	})
	if err == nil && len(files) == 0 {
		err = errors.New("no files in " + root)
	}
	return files, err
}
