package train

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/api"
)

func TestAMemberThatCreateTrainingJobLacksIsNamedByItsPath(t *testing.T) {
	for text, want := range map[string]string{
		`{"Name": "x"}`: "Name",
		`{"AlgorithmSpecification": {"Image": "x"}}`:                            "AlgorithmSpecification.Image",
		`{"InputDataConfig": [{"ChannelName": "a"}, {"channelName": "b"}]}`:     "InputDataConfig[1].channelName",
		`{"Tags": [{"Key": "a", "Value": "b", "Extra": false}]}`:                "Tags[0].Extra",
		`{"HyperParameters": {"any": "name"}, "Environment": {"A": "1"}}`:       "",
		`{"InputDataConfig": [], "VpcConfig": null, "RoleArn": "", "Tags": []}`: "",
		`{"Extra": {}, "More": [], "None": null}`:                               "",
	} {
		err := parseRequest([]byte(text), new(sagemaker.CreateTrainingJobInput))
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, "CreateTrainingJob has no member "+want)
		}
	}
}

func TestANewNameIsOneThatAJobMayHave(t *testing.T) {
	for _, image := range []string{"pca", "", "registry/x_y.z:1", "---", "registry/--a--b--", "ä", "a123456789b123456789c123456789d123456789e123456789"} {
		require.Regexp(t, `^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$`, newName(image), image)
	}
}

func TestAChannelHasTheOptionsOfTheAPI(t *testing.T) {
	channel, err := parseChannel("train=s3://b/a=b/,mode=Pipe,type=AugmentedManifestFile,attributes=x+y,distribution=ShardedByS3Key," +
		"content-type=text/csv;label_size=0,compression=Gzip,wrapper=RecordIO,shuffle=-7")
	require.NoError(t, err)
	require.Equal(t, types.Channel{
		ChannelName: aws.String("train"), InputMode: types.TrainingInputModePipe, ContentType: aws.String("text/csv;label_size=0"),
		CompressionType: types.CompressionTypeGzip, RecordWrapperType: types.RecordWrapperRecordio,
		ShuffleConfig: &types.ShuffleConfig{Seed: aws.Int64(-7)},
		DataSource: &types.DataSource{S3DataSource: &types.S3DataSource{
			S3Uri: aws.String("s3://b/a=b/"), S3DataType: types.S3DataTypeAugmentedManifestFile, AttributeNames: []string{"x", "y"},
			S3DataDistributionType: types.S3DataDistributionShardedByS3Key,
		}},
	}, channel)
	for _, text := range []string{"", "train", "=x", "train=", "train=,mode=Pipe"} {
		_, err := parseChannel(text)
		require.EqualError(t, err, "want NAME=DATA, such as train=s3://bucket/prefix")
	}
}

func TestProgressIsThatOfTheEpochBeingRead(t *testing.T) {
	done, total, epoch := delivered([]platform.ChannelProgress{
		{Epoch: 2, Bytes: 230, EpochBytes: 100},
		{Epoch: 0, Bytes: 250, EpochBytes: 200}, // more than was listed
		{Epoch: -1, EpochBytes: 50},
	})
	require.Equal(t, []int64{30 + 200, 350, 2}, []int64{done, total, int64(epoch)})
}

// Whatever a file holds, it is refused or understood; what is understood is so again.
func FuzzARequestIsRefusedOrUnderstood(f *testing.F) {
	f.Add([]byte(`{"TrainingJobName": "a", "Tags": [{"Key": "a"}], "HyperParameters": {"a": "b"}, "StoppingCondition": {"MaxRuntimeInSeconds": 1}}`))
	f.Add([]byte(`{"InputDataConfig": [{"ShuffleConfig": {"Seed": 9007199254740993}}]}`))
	f.Add([]byte(`{"Tags": [], "Environment": {}, "HyperParameters": {"": ""}, "VpcConfig": {}, "RoleArn": "", "InputDataConfig": [{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var request, again sagemaker.CreateTrainingJobInput
		if parseRequest(text, &request) != nil {
			return
		}
		understood, err := api.Marshal(&request)
		require.NoError(t, err)
		require.NoError(t, parseRequest(understood, &again))
		require.Equal(t, request, again)
	})
}
