package jobs

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"
)

// answers is a log service that answers with the second of the first pair whose first is an operation and a part of
// the request.
func answers(t *testing.T, pairs ...[2]string) platform {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		for _, pair := range pairs {
			name, part, _ := strings.Cut(pair[0], " ")
			if name == operation && strings.Contains(string(request), part) {
				fmt.Fprint(w, pair[1])
				return
			}
		}
		t.Errorf("%s %s is not expected", operation, request)
	}))
	t.Cleanup(server.Close)
	return clients(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""),
	})
}

func TestTheLinesOfSeveralHostsComeInTheOrderOfTheirTimes(t *testing.T) {
	var out bytes.Buffer
	log := &joblog{job: "a", several: true, out: &out, platform: answers(t,
		[2]string{"DescribeLogStreams ", `{"logStreams": [{"logStreamName": "a/algo-1-1"}, {"logStreamName": "a/algo-10-1"}]}`},
		[2]string{`GetLogEvents "nextToken":"f/1"`, `{"events": [{"message": "five", "timestamp": 5}], "nextForwardToken": "f/2"}`},
		[2]string{`GetLogEvents "nextToken":"f/2"`, `{"events": [], "nextForwardToken": "f/2"}`},
		[2]string{`GetLogEvents "nextToken":"g/1"`, `{"events": [], "nextForwardToken": "g/1"}`},
		[2]string{`GetLogEvents "a/algo-1-1"`, `{"events": [{"message": "one", "timestamp": 1}, {"message": "four", "timestamp": 4}], "nextForwardToken": "f/1"}`},
		[2]string{`GetLogEvents "a/algo-10-1"`, `{"events": [{"message": "two", "timestamp": 2}, {"message": "three", "timestamp": 3}], "nextForwardToken": "g/1"}`},
	)}
	require.NoError(t, log.print(t.Context()))
	require.Equal(t, "algo-1 | one\nalgo-10 | two\nalgo-10 | three\nalgo-1 | four\nalgo-1 | five\n", out.String())
	require.NoError(t, log.print(t.Context())) // nothing twice
	require.Equal(t, 5, strings.Count(out.String(), "\n"))
}
