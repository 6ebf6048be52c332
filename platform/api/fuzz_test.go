package api

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/stretchr/testify/require"
)

// What is decoded is encoded to what is decoded to the same.
func FuzzUnmarshal(f *testing.F) {
	whole, err := Marshal(everything("job"))
	require.NoError(f, err)
	for _, seed := range []string{boto, string(whole), `{}`, ``, `[]`, `{"Tags":[{}]}`, `{"InputDataConfig":[{"ShuffleConfig":{"Seed":-9223372036854775808}}]}`, `{"CreationTimeAfter":1.5e9}`, `{"HyperParameters":{"":"\ud800"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, shape := range []any{new(sagemaker.CreateTrainingJobInput), new(sagemaker.ListTrainingJobsInput), new(sagemaker.CreateAlgorithmInput)} {
			if Unmarshal([]byte(text), shape) != nil {
				continue
			}
			once, err := Marshal(shape)
			require.NoError(t, err)
			again := reflect.New(reflect.TypeOf(shape).Elem()).Interface()
			require.NoError(t, Unmarshal(once, again), "%s", once)
			twice, err := Marshal(again)
			require.NoError(t, err)
			require.Equal(t, string(once), string(twice))
		}
		dialect{lower: true}.unmarshal([]byte(text), new(logs.GetLogEventsInput))
	})
}

// A request that is valid can be converted, or is refused with the service's code; its channels cannot leave the data directory.
func FuzzValidate(f *testing.F) {
	whole, err := Marshal(everything("job"))
	require.NoError(f, err)
	for _, seed := range []string{boto, string(whole), strings.Replace(string(whole), `"train"`, `"../x"`, 1)} {
		f.Add(seed)
	}
	opts := Options{Resolve: resolve, FileSystems: map[string]string{"fs-00000000": f.TempDir()}}
	f.Fuzz(func(t *testing.T, text string) {
		in := new(sagemaker.CreateTrainingJobInput)
		if Unmarshal([]byte(text), in) != nil {
			return
		}
		if err := Validate(in); err != nil {
			require.Equal(t, codeValidation, code(err))
			return
		}
		if in.AlgorithmSpecification.TrainingImage == nil || *in.AlgorithmSpecification.TrainingImage == "" {
			_ = apply(specification(), in)
			return
		}
		job, err := opts.Job(in)
		if err != nil {
			require.Equal(t, codeValidation, code(err))
			return
		}
		for _, c := range job.Channels {
			require.NotContains(t, c.Name, "/")
			require.NotContains(t, []string{".", "..", ""}, c.Name)
		}
	})
}

// No request at all makes the handler panic or answer as if it were not at fault.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/", "SageMaker.CreateTrainingJob", jsonType, boto, "")
	f.Add("POST", "/", "Logs_20140328.GetLogEvents", jsonType, `{"logGroupName":"`+logGroup+`","logStreamName":"job/algo-1-1","nextToken":"f/1/s"}`, "")
	f.Add("POST", "/", "", "application/x-www-form-urlencoded", "Action=GetCallerIdentity", "")
	f.Add("POST", "/", "SageMaker.ListTags", jsonType, `{"ResourceArn":"arn:aws:sagemaker:us-east-1:000000000000:training-job/x"}`, "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/sagemaker/aws4_request, SignedHeaders=host, Signature=00")
	f.Add("GET", "/jobs/x?token=1", "", "", "", "Bearer x")
	s, err := open(Options{Dir: f.TempDir(), Resolve: resolve}, (&script{}).engine())
	require.NoError(f, err)
	f.Cleanup(func() { s.Close() })
	closed, err := open(Options{Dir: f.TempDir(), Resolve: resolve, Token: "x", Credentials: map[string]string{"AKIA": "secret"}}, (&script{}).engine())
	require.NoError(f, err)
	f.Cleanup(func() { closed.Close() })
	handlers := []*Service{s, closed}
	f.Fuzz(func(t *testing.T, method, path, target, kind, body, authorization string) {
		for i, s := range handlers {
			r := httptest.NewRequest("POST", "http://127.0.0.1/", strings.NewReader(body))
			r.Method, r.URL.Path = method, path
			r.Header.Set("X-Amz-Target", target)
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Authorization", authorization)
			answer := httptest.NewRecorder()
			s.Handler().ServeHTTP(answer, r)
			require.Less(t, answer.Code, 500, answer.Body)
			if i == 1 && authorization != "Bearer x" {
				require.NotEqual(t, 200, answer.Code)
			}
		}
	})
}
