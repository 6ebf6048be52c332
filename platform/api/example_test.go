package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/platform/api"
	"github.com/algospec/algospec/platform/s3test"
)

// A job is created as on AWS, with the endpoint of the client set to the platform.
func ExampleOpen() {
	objects := s3test.New()
	defer objects.Close()
	if err := objects.Put("data", "train/part-0", strings.NewReader("1,2,3\n")); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "platform-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	service, err := api.Open(api.Options{Dir: dir, S3: objects.Client(), Resolve: func(image string) (api.Algorithm, error) {
		return api.Algorithm{Command: []string{"sh", "-c", "exit 0"}}, nil
	}})
	if err != nil {
		panic(err)
	}
	defer service.Close()
	server := httptest.NewServer(service.Handler())
	defer server.Close()

	ctx := context.Background()
	client := sagemaker.New(sagemaker.Options{Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: aws.AnonymousCredentials{}})
	_, err = client.CreateTrainingJob(ctx, &sagemaker.CreateTrainingJobInput{
		TrainingJobName:        aws.String("job"),
		RoleArn:                aws.String("arn:aws:iam::000000000000:role/any"),
		AlgorithmSpecification: &types.AlgorithmSpecification{TrainingImage: aws.String("nothing"), TrainingInputMode: types.TrainingInputModeFile},
		ResourceConfig:         &types.ResourceConfig{InstanceType: types.TrainingInstanceTypeMlM5Large, InstanceCount: aws.Int32(1)},
		OutputDataConfig:       &types.OutputDataConfig{S3OutputPath: aws.String("s3://data/models")},
		StoppingCondition:      &types.StoppingCondition{},
	})
	if err != nil {
		panic(err)
	}
	for {
		job, err := client.DescribeTrainingJob(ctx, &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String("job")})
		if err != nil {
			panic(err)
		}
		if job.TrainingJobStatus != types.TrainingJobStatusInProgress {
			fmt.Println(job.TrainingJobStatus)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Output: Completed
}
