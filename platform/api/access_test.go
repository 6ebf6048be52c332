package api

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
)

// code is the code of an API error, "" for none.
func code(err error) string {
	var known smithy.APIError
	if errors.As(err, &known) {
		return known.ErrorCode()
	}
	return ""
}

func withKeys(o *Options) { o.Credentials = map[string]string{"AKIA": "secret"} }

func TestOnlySignedRequestsAreLetIn(t *testing.T) {
	url := serve(t, newService(t, &script{}, withKeys)).URL
	for _, c := range []struct{ name, key, secret, want string }{
		{"with the right key", "AKIA", "secret", ""},
		{"with another key", "AKIB", "secret", "UnrecognizedClientException"},
		{"with another secret", "AKIA", "Secret", "InvalidSignatureException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sagemaker.NewFromConfig(config(url, c.key, c.secret)).ListTrainingJobs(t.Context(), &sagemaker.ListTrainingJobsInput{})
			require.Equal(t, c.want, code(err), "%v", err)
			_, err = logs.NewFromConfig(config(url, c.key, c.secret)).DescribeLogGroups(t.Context(), &logs.DescribeLogGroupsInput{})
			require.Equal(t, c.want, code(err), "%v", err)
			_, err = sts.NewFromConfig(config(url, c.key, c.secret)).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			require.Equal(t, c.want, code(err), "%v", err)
		})
	}
}

// recorder keeps the request that a client sends.
type recorder struct{ request *http.Request }

func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.request = httptest.NewRequest(request.Method, request.URL.String(), bytes.NewReader(body))
	r.request.Header, r.request.ContentLength = request.Header, request.ContentLength
	return nil, errors.New("recorded")
}

// signed is a request as the SDK signs it.
func signedRequest(t *testing.T) *http.Request {
	t.Helper()
	var r recorder
	c := config("http://127.0.0.1", "AKIA", "secret")
	c.HTTPClient = &r
	_, err := sagemaker.NewFromConfig(c).DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String("job")})
	require.Error(t, err)
	return r.request
}

func TestARequestThatWasChangedIsRefused(t *testing.T) {
	const missing, incomplete, wrong, let = "MissingAuthenticationTokenException", "IncompleteSignatureException", "InvalidSignatureException", "ValidationException"
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   string
	}{
		{"nothing", func(r *http.Request) {}, let}, // no such job
		{"no authorization", func(r *http.Request) { r.Header.Del("Authorization") }, missing},
		{"another scheme", func(r *http.Request) { r.Header.Set("Authorization", "Basic eDp5") }, incomplete},
		{"a bearer where there is no token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, incomplete},
		{"no signature", func(r *http.Request) {
			text, _, _ := strings.Cut(r.Header.Get("Authorization"), ", Signature")
			r.Header.Set("Authorization", text)
		}, incomplete},
		{"a short scope", func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "/sagemaker/", "/", 1))
		}, incomplete},
		{"another service", func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "/sagemaker/", "/s3/", 1))
		}, wrong},
		{"no date", func(r *http.Request) { r.Header.Del("X-Amz-Date") }, incomplete},
		{"another body", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"TrainingJobName":"joc"}`)) }, wrong},
		{"another operation", func(r *http.Request) { r.Header.Set("X-Amz-Target", "SageMaker.DeleteTrainingJob") }, wrong},
		{"another host", func(r *http.Request) { r.Host = "example.com" }, wrong},
		{"an empty signature of another length", func(r *http.Request) {
			r.Header.Set("Authorization", r.Header.Get("Authorization")+"0")
		}, wrong},
		{"a header that was not signed", func(r *http.Request) { r.Header.Set("X-Amz-Meta", "1") }, wrong},
		{"a query", func(r *http.Request) { r.URL.RawQuery = "a=1" }, wrong},
		{"the target out of the signed headers", func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), ";x-amz-target", "", 1))
		}, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			handler := newService(t, &script{}, withKeys).Handler()
			r := signedRequest(t)
			c.change(r)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			require.Equal(t, 400, answer.Code)
			require.Equal(t, c.want, answer.Header().Get("X-Amzn-ErrorType"), answer.Body)
		})
	}
}

func TestASignatureHoldsForFiveMinutes(t *testing.T) {
	r := signedRequest(t)
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""}, {5 * time.Minute, ""}, {5*time.Minute + time.Second, "InvalidSignatureException"},
		{-5 * time.Minute, ""}, {-5*time.Minute - time.Second, "InvalidSignatureException"},
	} {
		guard := access{credentials: map[string]string{"AKIA": "secret"}, now: func() time.Time { return at.Add(c.after) }}
		require.Equal(t, c.want, code(guard.api(r, body, "sagemaker")), c.after)
	}
}

func TestATokenOpensTheAPIAndThePage(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page of "+r.URL.String()) })
	server := serve(t, newService(t, &script{}, func(o *Options) { o.Token, o.Page = "a token", page }))
	do := func(method, path string, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	list := []string{"X-Amz-Target", "SageMaker.ListTrainingJobs", "Content-Type", jsonType}
	require.Equal(t, 400, do("POST", "/", list...).StatusCode)
	require.Equal(t, 400, do("POST", "/", append(list, "Authorization", "Bearer another")...).StatusCode)
	require.Equal(t, 200, do("POST", "/", append(list, "Authorization", "Bearer a token")...).StatusCode)

	require.Equal(t, 401, do("GET", "/jobs/x").StatusCode)
	require.Equal(t, 401, do("GET", "/jobs/x?token=another").StatusCode)
	require.Equal(t, 200, do("GET", "/jobs/x", "Authorization", "Bearer a token").StatusCode)
	away := do("GET", "//example.com/?token=a%20token&x=1")
	require.Equal(t, 303, away.StatusCode)
	require.Equal(t, "/example.com/?x=1", away.Header.Get("Location"))
	require.Len(t, away.Cookies(), 1)
	require.NotContains(t, away.Cookies()[0].Value, hex.EncodeToString([]byte("a token")), "other ports of the host see it")
	in := do("GET", "/jobs/x", "Cookie", away.Cookies()[0].Name+"="+away.Cookies()[0].Value)
	body, err := io.ReadAll(in.Body)
	require.NoError(t, err)
	require.Equal(t, "page of /jobs/x", string(body))
	require.Equal(t, 401, do("GET", "/jobs/x", "Cookie", away.Cookies()[0].Name+"=6120").StatusCode)
	require.Equal(t, 403, do("POST", "/jobs/x/stop", "Cookie", away.Cookies()[0].Name+"="+away.Cookies()[0].Value, "Sec-Fetch-Site", "cross-site").StatusCode)
}

func TestWithoutKeysOnlyNamesOfThisMachineAreServed(t *testing.T) {
	handler := newService(t, &script{}).Handler()
	for host, want := range map[string]int{
		"localhost:80": 404, "127.0.0.1:8080": 404, "[::1]:8080": 404, "[::1]": 404, "api.localhost": 404, "127.8.9.1": 404, "LOCALHOST.:1": 404, "[::ffff:127.0.0.1]:1": 404,
		"example.com": 403, "127.0.0.1.example.com": 403, "localhost.example.com:80": 403, "10.0.0.1": 403, "": 403, "notlocalhost": 403,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		require.Equal(t, want, answer.Code, host)
	}
}

func TestOtherMachinesAreLetInOnlyWhenAskedFor(t *testing.T) {
	open, guarded := newService(t, &script{}), newService(t, &script{}, withKeys)
	for _, c := range []struct {
		name    string
		s       *Service
		address string
		public  bool
		want    string
	}{
		{"loopback", open, "127.0.0.1:0", false, ""},
		{"by name", open, "localhost:0", false, ""},
		{"everything", open, ":0", false, "api: :0 can be reached from other machines, which must be asked for"},
		{"everything, with keys", guarded, "0.0.0.0:0", false, "api: 0.0.0.0:0 can be reached from other machines, which must be asked for"},
		{"asked for without keys", open, "0.0.0.0:0", true, "api: 0.0.0.0:0 can be reached from other machines, which needs credentials or a token"},
		{"asked for with keys", guarded, "0.0.0.0:0", true, ""},
		{"no port", open, "localhost", false, "api: address localhost: missing port in address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			listener, err := c.s.Listen(c.address, c.public)
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, listener.Close())
		})
	}
}
