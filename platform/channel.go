package platform

import (
	"os"
	"slices"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/platform/s3stream"
)

// A Channel is one element of InputDataConfig. Its strings have the values of CreateTrainingJob; ""
// is the first one named.
type Channel struct {
	Name string

	S3URI                  string   // s3://bucket/prefix, which needs no slash at its end; or of a manifest
	S3DataType             string   // S3Prefix, ManifestFile or AugmentedManifestFile
	AttributeNames         []string // of an augmented manifest, in the order of delivery
	S3DataDistributionType string   // FullyReplicated or ShardedByS3Key
	Directory              string   // FileSystemDataSource: a directory of this machine, instead of S3URI
	FileSystemAccessMode   string   // of Directory: ro or rw
	InstanceGroupNames     []string // which groups' hosts get the channel; none means all

	InputMode         string // Pipe, File or FastFile; File for a Directory. Hosts that get the same file share its bytes: it is not to be written
	ContentType       string
	CompressionType   string // None or Gzip, which is for pipes
	RecordWrapperType string // None or RecordIO, which is for pipes
	ShuffleSeed       *int64 // ShuffleConfig; nil keeps the order of the list
}

const (
	pipeMode     = "Pipe"
	fileMode     = "File"
	fastFileMode = "FastFile"

	prefixData    = "S3Prefix"
	manifestData  = "ManifestFile"
	augmentedData = "AugmentedManifestFile"

	replicated = "FullyReplicated"
	sharded    = "ShardedByS3Key"

	none     = "None"
	gzipped  = "Gzip"
	recordIO = "RecordIO"

	readOnly  = "ro"
	readWrite = "rw"
)

// withDefaults puts in what "" stands for.
func (c Channel) withDefaults() Channel {
	or := func(s *string, standard string) {
		if *s == "" {
			*s = standard
		}
	}
	if c.Directory != "" {
		or(&c.InputMode, fileMode)
	}
	or(&c.InputMode, pipeMode)
	or(&c.S3DataType, prefixData)
	or(&c.S3DataDistributionType, replicated)
	or(&c.CompressionType, none)
	or(&c.RecordWrapperType, none)
	or(&c.FileSystemAccessMode, readOnly)
	return c
}

// validate reports everything that is wrong with the channel.
func (c Channel) validate(bad func(format string, args ...any)) {
	if !channel.ValidName(c.Name) {
		bad("name %.70q: want 1 to 64 letters, digits, '.', '-' and '_'", c.Name)
	}
	c = c.withDefaults()
	oneOf := func(what, value string, values ...string) {
		if !slices.Contains(values, value) {
			bad("%s %.70q: want one of %q", what, value, values)
		}
	}
	oneOf("InputMode", c.InputMode, pipeMode, fileMode, fastFileMode)
	oneOf("S3DataType", c.S3DataType, prefixData, manifestData, augmentedData)
	oneOf("S3DataDistributionType", c.S3DataDistributionType, replicated, sharded)
	oneOf("CompressionType", c.CompressionType, none, gzipped)
	oneOf("RecordWrapperType", c.RecordWrapperType, none, recordIO)
	oneOf("FileSystemAccessMode", c.FileSystemAccessMode, readOnly, readWrite)
	if c.InputMode != pipeMode {
		c.validateFiles(bad)
	}
	if (c.S3DataType == augmentedData) != (len(c.AttributeNames) > 0) {
		bad("AttributeNames go with S3DataType AugmentedManifestFile, and it needs them")
	}
	if c.Directory != "" {
		c.validateDirectory(bad)
		return
	}
	if c.FileSystemAccessMode != readOnly {
		bad("FileSystemAccessMode %s: only with a Directory", c.FileSystemAccessMode)
	}
	if _, _, err := s3stream.ParseURI(c.S3URI); err != nil {
		bad("%q: %w", c.S3URI, err)
	}
}

// validateFiles reports what only pipes can do.
func (c Channel) validateFiles(bad func(string, ...any)) {
	if c.CompressionType != none {
		bad("CompressionType %s: only with InputMode Pipe", c.CompressionType)
	}
	if c.RecordWrapperType != none {
		bad("RecordWrapperType %s: only with InputMode Pipe", c.RecordWrapperType)
	}
	if c.S3DataType == augmentedData {
		bad("AugmentedManifestFile: only with InputMode Pipe (the service's documents contradict each other about File)")
	}
	if c.InputMode == fastFileMode && c.S3DataType != prefixData {
		bad("InputMode FastFile: only with S3DataType S3Prefix")
	}
}

func (c Channel) validateDirectory(bad func(string, ...any)) {
	if c.S3URI != "" {
		bad("want one of S3URI and Directory")
	}
	if c.InputMode != fileMode {
		bad("InputMode %s: a Directory is read as files", c.InputMode)
	}
	if c.S3DataType != prefixData {
		bad("S3DataType %s: a Directory is not in S3", c.S3DataType)
	}
	if c.S3DataDistributionType != replicated {
		bad("S3DataDistributionType %s: a Directory is whole on each host", c.S3DataDistributionType)
	}
	if info, err := os.Stat(c.Directory); err != nil {
		bad("%w", err)
	} else if !info.IsDir() {
		bad("%s: not a directory", c.Directory)
	}
}

// config is the channel's entry in inputdataconfig.json.
func (c Channel) config() channel.Config {
	c = c.withDefaults()
	return channel.Config{
		TrainingInputMode: c.InputMode, S3DistributionType: c.S3DataDistributionType,
		RecordWrapperType: c.RecordWrapperType, ContentType: c.ContentType,
	}
}
