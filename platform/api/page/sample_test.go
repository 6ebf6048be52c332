package page

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

const (
	running     = "kmeans-customers-2026-11-21"
	downloading = "resnet-images-file-mode"
	pending     = "linear-learner-pending"
	completed   = "pca-embeddings-512"
	failed      = "xgboost-churn-retry"
	stopped     = "forecast-max-runtime"
	hostile     = "hostile-names-and-logs"
)

const evil = `"><script>document.title = 'taken'</script><img src=https://elsewhere.example/x.png onerror=alert(1)>'`

// sampleJobs are jobs in every state at a given time, and 70 completed ones before them.
func sampleJobs(now time.Time) *fakeJobs {
	f := &fakeJobs{objects: map[string][]byte{}}
	f.jobs = append(f.jobs, runningJob(now), downloadingJob(now), pendingJob(now), completedJob(now), failedJob(now), stoppedJob(now), hostileJob(now))
	for i := range 70 {
		f.jobs = append(f.jobs, newJob(fmt.Sprintf("sweep-%03d", 69-i), now.Add(-time.Duration(24+i)*time.Hour)).ends("Completed", "Completed", 7*time.Minute))
	}
	archive := make([]byte, 300_000)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(archive)
	f.objects["s3://models/pca/"+completed+"/output/model.tar.gz"] = archive
	f.objects["s3://models/pca/"+completed+"/output/output.tar.gz"] = bytes.Repeat([]byte("output"), 50)
	f.train(running, 2500, 400*time.Millisecond)
	return f
}

func newJob(name string, created time.Time) *fakeJob {
	j := &fakeJob{DescribeTrainingJobOutput: sagemaker.DescribeTrainingJobOutput{
		TrainingJobName: aws.String(name),
		TrainingJobArn:  aws.String("arn:aws:sagemaker:us-east-1:000000000000:training-job/" + name),
		CreationTime:    aws.Time(created), LastModifiedTime: aws.Time(created),
		TrainingJobStatus: "InProgress", SecondaryStatus: "Starting",
		AlgorithmSpecification: &types.AlgorithmSpecification{
			TrainingImage: aws.String("382416733822.dkr.ecr.us-east-1.amazonaws.com/kmeans:1"), TrainingInputMode: "Pipe"},
		HyperParameters:   map[string]string{"k": "10", "feature_dim": "784", "mini_batch_size": "500"},
		ResourceConfig:    &types.ResourceConfig{InstanceType: "ml.m5.xlarge", InstanceCount: aws.Int32(1), VolumeSizeInGB: aws.Int32(30)},
		StoppingCondition: &types.StoppingCondition{MaxRuntimeInSeconds: aws.Int32(86400)},
		OutputDataConfig:  &types.OutputDataConfig{S3OutputPath: aws.String("s3://models/pca")},
		InputDataConfig:   []types.Channel{s3Channel("train", "Pipe")},
	}}
	j.become("InProgress", "Starting", "Starting the training job", created)
	return j
}

func s3Channel(name string, mode types.TrainingInputMode) types.Channel {
	return types.Channel{ChannelName: aws.String(name), InputMode: mode, ContentType: aws.String("application/x-recordio-protobuf"),
		DataSource: &types.DataSource{S3DataSource: &types.S3DataSource{S3DataType: "S3Prefix",
			S3Uri: aws.String("s3://data/customers/2026/" + name + "/part-"), S3DataDistributionType: "FullyReplicated"}}}
}

// ends has the job train for a time, and end.
func (j *fakeJob) ends(status types.TrainingJobStatus, secondary types.SecondaryStatus, training time.Duration) *fakeJob {
	start := j.CreationTime.Add(2 * time.Second)
	j.TrainingStartTime = aws.Time(start)
	j.become("InProgress", "Training", "Training image download completed. Training in progress.", start)
	if status == "Completed" {
		j.become("InProgress", "Uploading", "Uploading generated training model", start.Add(training))
		training += training / 20
	}
	j.become(status, secondary, "Training job "+strings.ToLower(string(secondary)), start.Add(training))
	j.TrainingTimeInSeconds, j.BillableTimeInSeconds = aws.Int32(int32(training.Seconds())), aws.Int32(int32(training.Seconds()))
	return j
}

func (j *fakeJob) hosts(n int) *fakeJob {
	j.ResourceConfig.InstanceCount = aws.Int32(int32(n))
	for i := range n {
		host := fmt.Sprintf("algo-%d", i+1)
		j.streams = append(j.streams, &fakeStream{name: fmt.Sprintf("%s/%s-%d", *j.TrainingJobName, host, j.CreationTime.Unix()), host: host})
	}
	return j
}

func (s *fakeStream) log(at time.Time, texts ...string) {
	for _, text := range texts {
		s.lines = append(s.lines, platform.Line{Host: s.host, Time: at.Add(time.Duration(len(s.lines)) * time.Second), Text: text})
	}
}

func runningJob(now time.Time) *fakeJob {
	j := newJob(running, now.Add(-17*time.Minute)).hosts(3)
	j.EnableManagedSpotTraining = aws.Bool(true)
	j.StoppingCondition.MaxWaitTimeInSeconds = aws.Int32(100000)
	j.CheckpointConfig = &types.CheckpointConfig{S3Uri: aws.String("s3://models/checkpoints/" + running)}
	j.InputDataConfig = []types.Channel{s3Channel("train", "Pipe"), s3Channel("test", "Pipe")}
	j.InputDataConfig[0].DataSource.S3DataSource.S3DataDistributionType = "ShardedByS3Key"
	j.InputDataConfig[0].ShuffleConfig = &types.ShuffleConfig{Seed: aws.Int64(7)}
	j.HyperParameters = map[string]string{"k": "100", "feature_dim": "784", "mini_batch_size": "5000", "epochs": "10",
		"init_method": "kmeans++", "eval_metrics": `["msd","ssd"]`, "extra_center_factor": "auto", "local_init_method": "kmeans++", "tol": "0.0001"}
	j.Environment = map[string]string{"OMP_NUM_THREADS": "8"}
	j.AlgorithmSpecification.MetricDefinitions = []types.MetricDefinition{{Name: aws.String("train:msd"), Regex: aws.String("<loss>=(.*)")}}
	j.TrainingStartTime = aws.Time(j.CreationTime.Add(3 * time.Second))
	j.become("InProgress", "Downloading", "Downloading input data", j.CreationTime.Add(20*time.Second))
	j.become("InProgress", "Training", "Training image download completed. Training in progress.", j.CreationTime.Add(95*time.Second))
	j.progress = &platform.Progress{}
	for _, s := range j.streams {
		for _, channel := range []string{"train", "test"} {
			c := platform.ChannelProgress{Host: s.host, Name: channel, EpochBytes: 24e9, FirstByte: 1300 * time.Millisecond, Opens: 5}
			if channel == "test" {
				c.EpochBytes = 310e9
			}
			j.progress.Channels = append(j.progress.Channels, c)
		}
	}
	j.progress.Channels[5].Problem = "epoch 1 was opened before epoch 0 had been read to its end; it gets no data until that is closed"
	return j
}

func downloadingJob(now time.Time) *fakeJob {
	j := newJob(downloading, now.Add(-31*time.Second)).hosts(1)
	j.InputDataConfig = []types.Channel{s3Channel("train", "File")}
	j.become("InProgress", "Downloading", "Downloading input data", j.CreationTime.Add(time.Second))
	j.progress = &platform.Progress{Elapsed: 30 * time.Second, Downloaded: 3_400_000_000, ToDownload: 9_100_000_000,
		Channels: []platform.ChannelProgress{{Host: "algo-1", Name: "train", Epoch: -1}}}
	return j
}

func pendingJob(now time.Time) *fakeJob {
	j := newJob(pending, now.Add(-5*time.Second))
	j.SecondaryStatus, j.SecondaryStatusTransitions, j.InputDataConfig, j.HyperParameters = "Pending", nil, nil, nil
	return j
}

func completedJob(now time.Time) *fakeJob {
	j := newJob(completed, now.Add(-2*time.Hour)).hosts(1).ends("Completed", "Completed", 41*time.Minute)
	j.ModelArtifacts = &types.ModelArtifacts{S3ModelArtifacts: aws.String("s3://models/pca/" + completed + "/output/model.tar.gz")}
	j.output = "s3://models/pca/" + completed + "/output/output.tar.gz"
	j.pictures = []algospec.Picture{
		{Name: "explained-variance", Title: "Variance explained by the components", X: "component", Y: "share",
			Bars:  []algospec.Series{{Name: "each", Y: []float64{0.6, 0.25, 0.05}}},
			Lines: []algospec.Series{{Name: "all up to it", Y: []float64{0.6, 0.85, 0.9}}}},
		{Name: "evil", Title: evil, X: evil, Y: evil, Lines: []algospec.Series{{Name: evil, Y: []float64{1, -2, 3}}}},
	}
	for i := range 1000 {
		j.streams[0].log(*j.CreationTime, fmt.Sprintf("[11/21/2026] INFO line %d of the log", i))
	}
	return j
}

func failedJob(now time.Time) *fakeJob {
	j := newJob(failed, now.Add(-26*time.Hour)).hosts(2).ends("Failed", "Failed", 70*time.Second)
	j.FailureReason = aws.String("ClientError: channel train, epoch 2: recordio: record 7 at byte 4182: bad magic number\n<b>not bold</b>, exit code: 1")
	j.ModelArtifacts = &types.ModelArtifacts{S3ModelArtifacts: aws.String("s3://models/pca/" + failed + "/output/model.tar.gz")}
	// The first host was started twice.
	j.streams = append(j.streams, &fakeStream{name: failed + "/algo-1-9999999999", host: "algo-1"})
	j.streams[0].log(*j.CreationTime, "first attempt")
	j.streams[1].log(*j.CreationTime, "on the second host")
	j.streams[2].log(*j.CreationTime, "second attempt")
	return j
}

func stoppedJob(now time.Time) *fakeJob {
	j := newJob(stopped, now.Add(-90*time.Hour)).hosts(1).ends("Stopped", "MaxRuntimeExceeded", 26*time.Hour)
	j.ModelArtifacts = &types.ModelArtifacts{S3ModelArtifacts: aws.String("s3://models/pca/" + stopped + "/output/model/")}
	return j
}

// hostileJob holds what an attacker, or a careless author, would put into a job.
func hostileJob(now time.Time) *fakeJob {
	j := newJob(hostile, now.Add(-3*time.Hour)).hosts(1).ends("Completed", "Completed", time.Minute)
	j.HyperParameters = map[string]string{evil: evil, "bytes": "a\xff\xfeb", "long": strings.Repeat("x", 2500)}
	j.Environment = map[string]string{"HTML": evil}
	j.AlgorithmSpecification.TrainingImage = aws.String("registry/" + evil)
	j.InputDataConfig[0].DataSource.S3DataSource.S3Uri = aws.String("s3://data/" + evil)
	j.output = "javascript:alert(1)//" + evil
	j.streams[0].log(*j.CreationTime, evil, "\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain", "bad \xff utf-8 \x00 nul \u0085", "\u202eright to left",
		"10%\r50%\r100% done\r", strings.Repeat("é", 128<<10), "the line after")
	for i, value := range []float64{-1.7e308, 1.7e308, 5e-324, 0} {
		j.metrics = append(j.metrics, platform.Metric{Name: evil, Host: evil, Value: value, Time: j.CreationTime.Add(time.Duration(i) * time.Second)})
	}
	return j
}
