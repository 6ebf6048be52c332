package platform

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailureReasonsHaveTheServicesShape(t *testing.T) {
	long := strings.Repeat("é", 2000)
	for _, c := range []struct {
		end   hostEnd
		named bool
		want  string
	}{
		{hostEnd{code: 1}, false, "AlgorithmError: , exit code: 1"},
		{hostEnd{code: 1, failure: "it broke"}, false, "AlgorithmError: it broke, exit code: 1"},
		{hostEnd{code: 2, failure: "bad data"}, false, "ClientError: bad data, exit code: 2"},
		{hostEnd{code: 2, failure: "ClientError: k"}, false, "ClientError: k, exit code: 2"},
		{hostEnd{code: 2, failure: "AlgorithmError: x"}, false, "AlgorithmError: x, exit code: 2"},
		{hostEnd{code: 137, killed: true}, false, "AlgorithmError: , exit code: 137"},
		{hostEnd{code: 1, failure: long}, false, "AlgorithmError: " + strings.Repeat("é", 1024-16-14) + ", exit code: 1"},

		{hostEnd{code: 1, failure: "it broke"}, true, "AlgorithmError: algo-2: it broke, exit code: 1"},
		{hostEnd{code: 2, failure: "ClientError: k"}, true, "ClientError: algo-2: k, exit code: 2"},
		{hostEnd{code: 137, killed: true}, true, "AlgorithmError: algo-2: killed by signal 9 (killed), exit code: 137"},
		{hostEnd{code: 1, failure: long}, true, "AlgorithmError: algo-2: " + strings.Repeat("é", 1024-24-14) + ", exit code: 1"},
	} {
		c.end.host = "algo-2"
		require.Equal(t, c.want, c.end.reason(c.named))
	}
}

func TestTheHostThatFailedFirstIsTheCulprit(t *testing.T) {
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	peer, stop := errPeer, errors.New("stopped")
	for name, c := range map[string]struct {
		ends []hostEnd
		want string
	}{
		"none failed":                      {[]hostEnd{{host: "algo-1"}, {host: "algo-2"}}, ""},
		"the second failed":                {[]hostEnd{{host: "algo-1"}, {host: "algo-2", code: 1}}, "algo-2"},
		"the first in time":                {[]hostEnd{{host: "algo-1", code: 1, at: second(2)}, {host: "algo-2", code: 3, at: second(1)}}, "algo-2"},
		"at once: the lower number":        {[]hostEnd{{host: "algo-1", code: 1}, {host: "algo-2", code: 3}}, "algo-1"},
		"taken along":                      {[]hostEnd{{host: "algo-1", code: 1, told: peer}, {host: "algo-2", code: 1, at: second(5)}}, "algo-2"},
		"killed, and noticed by another":   {[]hostEnd{{host: "algo-1", code: 1, at: second(1)}, {host: "algo-2", code: 137, killed: true, told: peer, at: second(2)}}, "algo-2"},
		"killed first of two":              {[]hostEnd{{host: "algo-1", code: 137, killed: true, at: second(2)}, {host: "algo-2", code: 137, killed: true, at: second(1)}}, "algo-2"},
		"all were told to stop":            {[]hostEnd{{host: "algo-1", code: 1, told: stop}, {host: "algo-2", code: 137, killed: true, told: stop}}, ""},
		"could not be run":                 {[]hostEnd{{host: "algo-1", err: stop}}, "algo-1"},
		"one of two that were told failed": {[]hostEnd{{host: "algo-1", code: 143, told: peer}, {host: "algo-2", err: stop}}, "algo-2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if end := culprit(c.ends); end != nil {
				got = end.host
			}
			require.Equal(t, c.want, got)
		})
	}
}
