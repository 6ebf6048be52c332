package algospec_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/fleet"
)

// host plays a host of a training job: this test binary, started again.
func host(mode string) {
	algospec.Main(func(ctx context.Context, job *algospec.Job, p struct{}) error {
		for {
			x := []float64{1}
			if err := job.Cluster.AllReduce(ctx, x); err != nil {
				return err
			}
			job.Println("summed")
			if mode == "once" {
				return job.Model.Save("sum.json", algospec.JSON(x))
			}
		}
	})
}

var threeHosts = make([]map[string][]byte, 3)

func awaitSum(t *testing.T, hosts []*fleet.Host) {
	t.Helper()
	for _, h := range hosts {
		require.Eventually(t, func() bool { return strings.Contains(h.Log(), "summed") }, time.Minute, time.Millisecond)
	}
}

func TestHostsFindEachOtherByTheVariableOfTheLocalPlatform(t *testing.T) {
	for _, h := range fleet.Start(t, fleet.Job{Container: "once", Shards: threeHosts}) {
		require.Zero(t, h.Wait(), "%s: %s", h.Failure(t), h.Log())
	}
}

func TestTheFailureFileNamesTheHostThatWasLost(t *testing.T) {
	for victim := range 3 {
		hosts := fleet.Start(t, fleet.Job{Container: "for ever", Shards: threeHosts})
		awaitSum(t, hosts)
		require.NoError(t, hosts[victim].Cmd.Process.Kill())
		for i, h := range hosts {
			if i == victim {
				continue
			}
			require.Equal(t, 1, h.Wait())
			require.True(t, strings.HasPrefix(h.Failure(t), "AlgorithmError: cluster: host "+hosts[victim].Name+" is lost: "), h.Failure(t))
		}
	}
}

// The hosts are told one after the other, as they would be by a platform.
func TestAStopOfAllHostsIsNoFailureOfAny(t *testing.T) {
	hosts := fleet.Start(t, fleet.Job{Container: "for ever", Shards: threeHosts})
	awaitSum(t, hosts)
	for _, i := range []int{1, 0, 2} {
		require.NoError(t, hosts[i].Cmd.Process.Signal(syscall.SIGTERM))
		time.Sleep(100 * time.Millisecond) // the time between is the point
	}
	for _, h := range hosts {
		require.Zero(t, h.Wait(), "%s", h.Failure(t))
		require.Empty(t, h.Failure(t))
	}
}

func TestBadAddressesAreOneClearError(t *testing.T) {
	err := algospec.Run(t.Context(), algospec.Bind(save), algospec.Options{
		BaseDir: tree(t, nil),
		Getenv:  func(key string) string { return map[string]string{"ALGOSPEC_HOSTS": "algo-1"}[key] },
	})
	require.EqualError(t, err, `cluster: addresses: "algo-1" is not host=address`)
}
