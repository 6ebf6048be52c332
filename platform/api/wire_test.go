package api

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

// post sends a request as boto3 spells it.
func post(t *testing.T, url, target, kind, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(got)
}

// boto is a request as boto3 writes it.
const boto = `{"TrainingJobName": "job", "RoleArn": "arn:aws:iam::000000000000:role/training",
 "AlgorithmSpecification": {"TrainingImage": "pca", "TrainingInputMode": "Pipe"}, "OutputDataConfig": {"S3OutputPath": "s3://data/models"},
 "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1}, "StoppingCondition": {}, "Later": {"x": [1]}, "VpcConfig": null}`

func TestTheWireFormat(t *testing.T) {
	s := newService(t, &script{run: untilStopped})
	url := serve(t, s).URL
	answer, body := post(t, url, "SageMaker.CreateTrainingJob", "application/x-amz-json-1.1", boto)
	require.Equal(t, 200, answer.StatusCode, body)
	require.Equal(t, `{"TrainingJobArn":"arn:aws:sagemaker:us-east-1:000000000000:training-job/job"}`, body)
	require.Equal(t, "application/x-amz-json-1.1", answer.Header.Get("Content-Type"))
	require.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, answer.Header.Get("x-amzn-RequestId"))

	await(t, s, "job", in(types.SecondaryStatusTraining))
	answer, body = post(t, url, "SageMaker.DescribeTrainingJob", "application/x-amz-json-1.1; charset=utf-8", `{"TrainingJobName":"job"}`)
	require.Equal(t, 200, answer.StatusCode)
	var got map[string]any
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&got))
	require.Regexp(t, `^\d{10}(\.\d{1,3})?$`, got["CreationTime"].(json.Number).String())
	require.NotContains(t, body, "null")
	for _, absent := range []string{"FailureReason", "TrainingEndTime", "HyperParameters", "VpcConfig", "Later", "ResultMetadata"} {
		require.NotContains(t, got, absent)
	}
	require.Equal(t, json.Number("86400"), got["StoppingCondition"].(map[string]any)["MaxRuntimeInSeconds"])
	require.Equal(t, map[string]any{"S3ModelArtifacts": "s3://data/models/job/output/model.tar.gz"}, got["ModelArtifacts"])

	answer, body = post(t, url, "SageMaker.StopTrainingJob", jsonType, `{"TrainingJobName":"job"}`)
	require.Equal(t, []any{200, ""}, []any{answer.StatusCode, body})
	answer, body = post(t, url, "SageMaker.ListTrainingJobs", jsonType, ``)
	require.Equal(t, 200, answer.StatusCode)
	require.True(t, strings.HasPrefix(body, `{"TrainingJobSummaries":[{`), body)
}

func TestBadRequests(t *testing.T) {
	e := &script{run: untilStopped, check: func(job platform.Job) error {
		switch job.OutputPath {
		case "s3://data/mine":
			return clientFault{errors.New("channel train: no S3 objects under s3://data/train/")}
		case "s3://data/yours":
			return errors.New("S3 is away")
		}
		return nil
	}}
	url := serve(t, newService(t, e)).URL
	answer, body := post(t, url, "SageMaker.CreateTrainingJob", jsonType, boto)
	require.Equal(t, 200, answer.StatusCode, body)
	change := func(old, new string) string {
		require.Contains(t, boto, old)
		return strings.Replace(strings.Replace(boto, `"job"`, `"other"`, 1), old, new, 1)
	}
	const create = "SageMaker.CreateTrainingJob"
	for _, c := range []struct {
		name, target, kind, body string
		status                   int
		want, message            string
	}{
		{"no JSON", create, jsonType, `{"TrainingJobName": `, 400, "SerializationException", "the body is not JSON: unexpected EOF"},
		{"two documents", create, jsonType, `{} {}`, 400, "SerializationException", "the body is not JSON: more after the document's end"},
		{"a list", create, jsonType, `[]`, 400, "SerializationException", "the body: want an object, not a list"},
		{"a number for a string", create, jsonType, `{"TrainingJobName": 1}`, 400, "SerializationException", "TrainingJobName: want a string, not a number"},
		{"a string for a number", create, jsonType, change(`"InstanceCount": 1`, `"InstanceCount": "1"`), 400, "SerializationException", "ResourceConfig.InstanceCount: want an integer of 32 bits, not a string"},
		{"too large a number", create, jsonType, change(`"InstanceCount": 1`, `"InstanceCount": 2147483648`), 400, "SerializationException", "ResourceConfig.InstanceCount: want an integer of 32 bits, not a number"},
		{"a fraction", create, jsonType, change(`"InstanceCount": 1`, `"InstanceCount": 1.5`), 400, "SerializationException", "ResourceConfig.InstanceCount: want an integer of 32 bits, not a number"},
		{"a null in a list", create, jsonType, `{"Tags": [null]}`, 400, "SerializationException", "Tags[0]: want a value, not null"},
		{"a null in a map", create, jsonType, `{"HyperParameters": {"k": null}}`, 400, "SerializationException", "HyperParameters.k: want a value, not null"},
		{"a time out of time", "SageMaker.ListTrainingJobs", jsonType, `{"CreationTimeAfter": 1e300}`, 400, "SerializationException", "CreationTimeAfter: want a time in Unix seconds, not a number"},
		{"deep nesting", create, jsonType, strings.Repeat(`{"a":`, 100_000), 400, "SerializationException", "the body is not JSON"},
		{"an unknown operation", "SageMaker.CreateEndpoint", jsonType, `{}`, 400, "UnknownOperationException", `"SageMaker.CreateEndpoint"`},
		{"an unknown service", "DynamoDB_20120810.GetItem", jsonType, `{}`, 400, "UnknownOperationException", ""},
		{"no operation", "SageMaker", jsonType, `{}`, 400, "UnknownOperationException", ""},
		{"no target", "", jsonType, `{}`, 400, "UnknownOperationException", "X-Amz-Target is missing."},
		{"another content type", create, "application/json", boto, 400, "UnknownOperationException", `The content type "application/json" is not application/x-amz-json-1.1.`},
		{"what a form may send", create, "text/plain", boto, 400, "UnknownOperationException", ""},
		{"no content type", create, "", boto, 400, "UnknownOperationException", ""},
		{"a mebibyte", create, jsonType, `{"Later":"` + strings.Repeat("x", maxBody-12) + `"}`, 400, "ValidationException", "validation errors detected"},
		{"more than a mebibyte", create, jsonType, `{"Later":"` + strings.Repeat("x", maxBody-11) + `"}`, 413, "RequestEntityTooLargeException", ""},
		{"the same name", create, jsonType, boto, 400, "ResourceInUse", "(arn:aws:sagemaker:us-east-1:000000000000:training-job/job)"},
		{"the same name in capitals", create, jsonType, strings.Replace(boto, `"job"`, `"Job"`, 1), 400, "ResourceInUse", ""},
		{"an unknown image", create, jsonType, change(`"pca"`, `"unknown"`), 400, "ValidationException", "Training image unknown: no such image"},
		{"a channel without objects", create, jsonType, change("s3://data/models", "s3://data/mine"), 400, "ValidationException", "channel train: no S3 objects under s3://data/train/"},
		{"S3 that is away", create, jsonType, change("s3://data/models", "s3://data/yours"), 500, "InternalFailure", "training job other: S3 is away"},
		{"a job that is not there", "SageMaker.DescribeTrainingJob", jsonType, `{"TrainingJobName":"a"}`, 400, "ValidationException", "Requested resource not found."},
		{"a job of another case", "SageMaker.DescribeTrainingJob", jsonType, `{"TrainingJobName":"JOB"}`, 400, "ValidationException", "Requested resource not found."},
		{"a path for a job", "SageMaker.DescribeTrainingJob", jsonType, `{"TrainingJobName":"../job"}`, 400, "ValidationException", "failed to satisfy constraint"},
		{"no job", "SageMaker.StopTrainingJob", jsonType, `{}`, 400, "ValidationException", "1 validation error detected: Value null at 'trainingJobName' failed to satisfy constraint: Member must not be null"},
		{"a page of 101", "SageMaker.ListTrainingJobs", jsonType, `{"MaxResults":101}`, 400, "ValidationException", "Value '101' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 100"},
		{"no token", "SageMaker.ListTrainingJobs", jsonType, `{"NextToken":"x"}`, 400, "ValidationException", "Invalid NextToken."},
		{"tags of nothing", "SageMaker.ListTags", jsonType, `{"ResourceArn":"arn:aws:sagemaker:us-east-1:000000000000:training-job/no"}`, 400, "ValidationException", "Requested resource not found."},
		{"no form", "", "application/x-www-form-urlencoded", `Action=GetSessionToken`, 400, "", "<Code>InvalidAction</Code>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, body := post(t, url, c.target, c.kind, c.body)
			require.Equal(t, c.status, answer.StatusCode, body)
			require.NotEmpty(t, answer.Header.Get("x-amzn-RequestId"))
			require.Equal(t, c.want, answer.Header.Get("X-Amzn-ErrorType"))
			if c.want == "" {
				require.Contains(t, body, c.message)
				return
			}
			var got map[string]string
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			require.Equal(t, c.want, got["__type"][strings.Index(got["__type"], "#")+1:])
			require.Contains(t, got["message"]+got["Message"], c.message)
			require.Len(t, got, 2)
		})
	}
	_, body = post(t, url, "", "application/x-www-form-urlencoded; charset=utf-8", "Action=GetCallerIdentity&Version=2011-06-15")
	var identity struct {
		Account string `xml:"GetCallerIdentityResult>Account"`
	}
	require.NoError(t, xml.Unmarshal([]byte(body), &identity))
	require.Equal(t, "000000000000", identity.Account)
}

// clientFault is an error that is the user's fault.
type clientFault struct{ error }

func (clientFault) ClientError() bool { return true }

func TestAThousandJobsAreCreatedAtOnce(t *testing.T) {
	const jobs = 1000
	e := &script{}
	s := newService(t, e, func(o *Options) { o.Jobs = 3 })
	client := sagemaker.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	var wait sync.WaitGroup
	errs := make([]error, 2*jobs)
	for i := range 2 * jobs { // each name twice
		wait.Go(func() {
			_, errs[i] = client.CreateTrainingJob(t.Context(), request(fmt.Sprint("job-", i/2)))
		})
	}
	wait.Wait()
	for i := range jobs {
		codes := []string{code(errs[2*i]), code(errs[2*i+1])}
		require.ElementsMatch(t, []string{"", "ResourceInUse"}, codes, "%v %v", errs[2*i], errs[2*i+1])
	}
	for i := range jobs {
		require.Equal(t, types.TrainingJobStatusCompleted, ended(t, s, fmt.Sprint("job-", i)).TrainingJobStatus)
	}
	require.Len(t, e.order, jobs)
	require.LessOrEqual(t, e.most, 3)
}

func TestJobsWaitTheirTurn(t *testing.T) {
	e := &script{run: untilStopped}
	s := newService(t, e, func(o *Options) { o.Jobs = 2 })
	for i := range 6 {
		create(t, s, request(fmt.Sprint("job-", i)))
	}
	stop := func(name string) {
		_, err := s.StopTrainingJob(t.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String(name)})
		require.NoError(t, err)
	}
	await(t, s, "job-1", in(types.SecondaryStatusTraining))
	waiting := await(t, s, "job-3", in(types.SecondaryStatusPending))
	require.Equal(t, []string{"Pending"}, statuses(waiting))
	require.Equal(t, types.TrainingJobStatusInProgress, waiting.TrainingJobStatus)
	stop("job-3")
	require.Equal(t, []string{"Pending", "Stopped"}, statuses(ended(t, s, "job-3")))
	require.Nil(t, ended(t, s, "job-3").TrainingEndTime, "it never ran")
	stop("job-1")
	require.Equal(t, []string{"Pending", "Starting", "Training"}, statuses(await(t, s, "job-2", in(types.SecondaryStatusTraining))))
	progress, runs := s.Progress("job-2")
	require.True(t, runs)
	require.EqualValues(t, 7, progress.Downloaded)
	_, runs = s.Progress("job-3")
	require.False(t, runs)
	stop("job-0")
	stop("job-2")
	await(t, s, "job-5", in(types.SecondaryStatusTraining))
	require.Len(t, e.order, 5)
	require.ElementsMatch(t, []string{"job-0", "job-1"}, e.order[:2])
	require.Equal(t, "job-2", e.order[2])
	require.NotContains(t, e.order, "job-3")
}

func TestListsOfJobs(t *testing.T) {
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		if strings.HasSuffix(r.Name, "-3") {
			return &platform.Result{}, errFailed("AlgorithmError: no")
		}
		return &platform.Result{}, nil
	}})
	var between time.Time
	for i := range 7 {
		create(t, s, request(fmt.Sprint("job-", (i*3)%7)))
		ended(t, s, fmt.Sprint("job-", (i*3)%7))
		if i == 2 {
			between = time.Now()
		}
	}
	pages := func(in sagemaker.ListTrainingJobsInput) (all []string, sizes []int) {
		for {
			out, err := s.ListTrainingJobs(t.Context(), &in)
			require.NoError(t, err)
			for _, summary := range out.TrainingJobSummaries {
				all = append(all, strings.TrimPrefix(*summary.TrainingJobName, "job-"))
			}
			sizes = append(sizes, len(out.TrainingJobSummaries))
			if in.NextToken = out.NextToken; in.NextToken == nil {
				return all, sizes
			}
		}
	}
	for _, c := range []struct {
		name  string
		in    sagemaker.ListTrainingJobsInput
		want  string
		sizes []int
	}{
		{"by time", sagemaker.ListTrainingJobsInput{}, "0362514", []int{7}},
		{"by time backwards, in pages", sagemaker.ListTrainingJobsInput{SortOrder: "Descending", MaxResults: aws.Int32(3)}, "4152630", []int{3, 3, 1}},
		{"by name", sagemaker.ListTrainingJobsInput{SortBy: "Name", MaxResults: aws.Int32(7)}, "0123456", []int{7}},
		{"by status", sagemaker.ListTrainingJobsInput{SortBy: "Status", SortOrder: "Descending", MaxResults: aws.Int32(5)}, "3654210", []int{5, 2}},
		{"by status after the page is cut", sagemaker.ListTrainingJobsInput{SortBy: "Name", MaxResults: aws.Int32(3), StatusEquals: "Failed"}, "3", []int{0, 1, 0}},
		{"by part of the name", sagemaker.ListTrainingJobsInput{NameContains: aws.String("-5")}, "5", []int{1}},
		{"after a time", sagemaker.ListTrainingJobsInput{CreationTimeAfter: &between}, "2514", []int{4}},
		{"before a time", sagemaker.ListTrainingJobsInput{LastModifiedTimeBefore: &between}, "036", []int{3}},
		{"of a plan", sagemaker.ListTrainingJobsInput{WarmPoolStatusEquals: "Available"}, "", []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, sizes := pages(c.in)
			require.Equal(t, c.want, strings.Join(all, ""))
			require.Equal(t, c.sizes, sizes)
		})
	}
}

func TestTags(t *testing.T) {
	s := newService(t, &script{})
	in := request("job")
	in.Tags = repeat(49, func(i int) types.Tag {
		return types.Tag{Key: aws.String(fmt.Sprintf("k%02d", i)), Value: aws.String("v")}
	})
	create(t, s, in)
	arn := aws.String("arn:aws:sagemaker:us-east-1:000000000000:training-job/job")
	_, err := s.AddTags(t.Context(), &sagemaker.AddTagsInput{ResourceArn: arn, Tags: []types.Tag{{Key: aws.String("k00"), Value: aws.String("new")}, {Key: aws.String("x"), Value: aws.String("")}}})
	require.NoError(t, err)
	_, err = s.AddTags(t.Context(), &sagemaker.AddTagsInput{ResourceArn: arn, Tags: []types.Tag{{Key: aws.String("y"), Value: aws.String("")}}})
	require.EqualError(t, err, "api error ValidationException: The resource would have 51 tags; at most 50 are allowed.")
	out, err := s.ListTags(t.Context(), &sagemaker.ListTagsInput{ResourceArn: arn})
	require.NoError(t, err)
	require.Len(t, out.Tags, 50)
	require.Equal(t, "new", *out.Tags[0].Value)
	_, err = s.DeleteTags(t.Context(), &sagemaker.DeleteTagsInput{ResourceArn: arn, TagKeys: []string{"x", "absent"}})
	require.NoError(t, err)
	out, err = s.ListTags(t.Context(), &sagemaker.ListTagsInput{ResourceArn: arn})
	require.NoError(t, err)
	require.Len(t, out.Tags, 49)
}
