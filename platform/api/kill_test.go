package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// stepper copies its data to the model, once the file that GO names is there.
const stepper = `cp "$SAGEMAKER_BASE_DIR"/input/data/train/part-0 "$SAGEMAKER_BASE_DIR"/model/copy
while ! [ -e "$GO" ]; do sleep 0.01; done`

func stepperOptions(dir, url string) Options {
	client := s3.New(s3.Options{BaseEndpoint: &url, Region: "us-east-1", UsePathStyle: true, Credentials: aws.AnonymousCredentials{}})
	return Options{Dir: dir, S3: client, Resolve: func(string) (Algorithm, error) {
		return Algorithm{Command: []string{"sh", "-c", stepper}}, nil
	}}
}

// stepperPlatform is the platform of the test below, which is killed: it prints each status of a job.
func stepperPlatform(dir, url, wait string, retries int32) {
	s, err := Open(stepperOptions(dir, url))
	if err != nil {
		panic(err)
	}
	in := request("job")
	in.AlgorithmSpecification = &types.AlgorithmSpecification{TrainingImage: aws.String("any"), TrainingInputMode: types.TrainingInputModeFile}
	in.Environment = map[string]string{"GO": wait}
	if retries > 0 {
		in.RetryStrategy = &types.RetryStrategy{MaximumRetryAttempts: &retries}
	}
	if _, err := s.CreateTrainingJob(context.Background(), in); err != nil {
		panic(err)
	}
	for last := types.SecondaryStatus(""); ; time.Sleep(time.Millisecond) {
		out, err := s.DescribeTrainingJob(context.Background(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: in.TrainingJobName})
		if err != nil {
			panic(err)
		}
		if out.SecondaryStatus != last {
			last = out.SecondaryStatus
			fmt.Println(last)
		}
	}
}

// Whatever a job was doing when the platform was killed, nothing is half there after a restart, and the job
// fails or is done again.
func TestAPlatformKilledInEachStepOfAJobLeavesNothingHalfDone(t *testing.T) {
	for status, stalls := range map[types.SecondaryStatus]string{
		types.SecondaryStatusDownloading: "GET /data/train/part-0",
		types.SecondaryStatusTraining:    "",
		types.SecondaryStatusUploading:   "PUT /data/models/job/output/model.tar.gz",
	} {
		for _, retries := range []int32{0, 1} {
			t.Run(fmt.Sprintf("%s, %d retries", status, retries), func(t *testing.T) {
				server := s3test.New()
				t.Cleanup(func() { require.NoError(t, server.Close()) })
				require.NoError(t, server.Put("data", "train/part-0", strings.NewReader("1,2,3\n")))
				reached := make(chan struct{}, 100)
				server.SetFault(func(r *http.Request) *s3test.Fault {
					if r.Method+" "+r.URL.Path != stalls {
						return nil
					}
					reached <- struct{}{}
					<-r.Context().Done()
					return &s3test.Fault{Cut: true}
				})
				dir := t.TempDir()
				wait := filepath.Join(dir, "go")
				if status == types.SecondaryStatusUploading {
					require.NoError(t, os.WriteFile(wait, nil, 0o644))
				}
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "ALGOSPEC_TEST_STEPPER="+strings.Join([]string{filepath.Join(dir, "platform"), server.URL, wait, fmt.Sprint(retries)}, "\n"))
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				for said := ""; !strings.Contains(said, string(status)+"\n"); {
					text := make([]byte, 100)
					n, err := out.Read(text)
					require.NoError(t, err, said)
					said += string(text[:n])
				}
				if stalls != "" {
					<-reached
				}
				require.NoError(t, cmd.Process.Kill())
				cmd.Wait()
				server.SetFault(nil)
				require.NoError(t, os.WriteFile(wait, nil, 0o644))

				s, err := Open(stepperOptions(filepath.Join(dir, "platform"), server.URL))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				done := ended(t, s, "job")
				left, err := os.ReadDir(filepath.Join(dir, "platform", "jobs"))
				require.NoError(t, err)
				require.Empty(t, left)
				require.Empty(t, processes(t, dir))
				_, _, err = s.OpenObject(t.Context(), "s3://data/models/job/output/model.tar.gz")
				if retries == 0 {
					require.Equal(t, types.TrainingJobStatusFailed, done.TrainingJobStatus)
					require.ErrorContains(t, err, "NoSuchKey")
					return
				}
				require.Equal(t, types.TrainingJobStatusCompleted, done.TrainingJobStatus, aws.ToString(done.FailureReason))
				require.NoError(t, err)
			})
		}
	}
}

// processes returns those whose environment names the directory.
func processes(t *testing.T, dir string) (found []string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range environments {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "SAGEMAKER_BASE_DIR="+dir) {
			found = append(found, file)
		}
	}
	return found
}
