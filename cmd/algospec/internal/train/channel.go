package train

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// parseChannel reads NAME=DATA,OPTION=VALUE,…. What the values may be, the API says.
func parseChannel(text string) (types.Channel, error) {
	name, rest, ok := strings.Cut(text, "=")
	words := strings.Split(rest, ",")
	if !ok || name == "" || words[0] == "" {
		return types.Channel{}, errors.New("want NAME=DATA, such as train=s3://bucket/prefix")
	}
	s3 := &types.S3DataSource{S3Uri: aws.String(words[0]), S3DataType: types.S3DataTypeS3Prefix}
	channel := types.Channel{ChannelName: aws.String(name), DataSource: &types.DataSource{S3DataSource: s3}}
	for _, option := range words[1:] {
		key, value, _ := strings.Cut(option, "=")
		set, known := channelOptions[key]
		if !known {
			return types.Channel{}, fmt.Errorf("no option %q: there are %s (data with a comma in the name go into a job.json)",
				key, strings.Join(slices.Sorted(maps.Keys(channelOptions)), ", "))
		}
		if err := set(&channel, s3, value); err != nil {
			return types.Channel{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	return channel, nil
}

var channelOptions = map[string]func(c *types.Channel, s3 *types.S3DataSource, value string) error{
	"mode": func(c *types.Channel, _ *types.S3DataSource, value string) error {
		c.InputMode = types.TrainingInputMode(value)
		return nil
	},
	"type": func(_ *types.Channel, s3 *types.S3DataSource, value string) error {
		s3.S3DataType = types.S3DataType(value)
		return nil
	},
	"distribution": func(_ *types.Channel, s3 *types.S3DataSource, value string) error {
		s3.S3DataDistributionType = types.S3DataDistribution(value)
		return nil
	},
	"attributes": func(_ *types.Channel, s3 *types.S3DataSource, value string) error {
		s3.AttributeNames = strings.Split(value, "+")
		return nil
	},
	"content-type": func(c *types.Channel, _ *types.S3DataSource, value string) error {
		c.ContentType = aws.String(value)
		return nil
	},
	"compression": func(c *types.Channel, _ *types.S3DataSource, value string) error {
		c.CompressionType = types.CompressionType(value)
		return nil
	},
	"wrapper": func(c *types.Channel, _ *types.S3DataSource, value string) error {
		c.RecordWrapperType = types.RecordWrapper(value)
		return nil
	},
	"shuffle": func(c *types.Channel, _ *types.S3DataSource, value string) error {
		seed, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number", value)
		}
		c.ShuffleConfig = &types.ShuffleConfig{Seed: aws.Int64(seed)}
		return nil
	},
}
