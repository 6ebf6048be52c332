package platform_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

// The first thread never ends, and is the process to all others.
func TestThePlatformKeepsItsMountNamespace(t *testing.T) {
	before, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	server := newServer(t)
	for i := range 10 {
		job := newJob(t, server)
		job.Trainer, job.Command = nil, []string{"true"}
		job.Channels, job.InstanceCount = nil, 4
		_, err := platform.Run(t.Context(), job)
		require.NoError(t, err)
		after, err := os.Readlink("/proc/self/ns/mnt")
		require.NoError(t, err)
		require.Equal(t, before, after, "job %d", i)
	}
}

// Many programs look up the name of the machine they run on.
func TestHostsKnowTheNamesThatTheMachineKnows(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs a mount namespace")
	}
	machine, err := os.ReadFile("/etc/hosts")
	require.NoError(t, err)
	job := newJob(t, newServer(t))
	job.Trainer, job.Channels, job.InstanceCount = nil, nil, 2
	job.Command, job.Arguments = []string{"sh"}, []string{"-c", "cp /etc/hosts $SAGEMAKER_BASE_DIR/model/hosts"}
	result, err := platform.Run(t.Context(), job)
	require.NoError(t, err)
	seen := files(t, job.S3, result.ModelArtifacts)["hosts"]
	require.Regexp(t, `^127\.\d+\.\d+\.1 algo-1\n127\.\d+\.\d+\.2 algo-2\n`, seen)
	require.Contains(t, seen, string(machine))
}

// What is killed may have started something the moment before.
func TestAStrayThatStartsOthersLeavesNone(t *testing.T) {
	for range 5 {
		job := newJob(t, newServer(t))
		job.Trainer, job.Channels = nil, nil
		job.Command, job.Arguments = []string{"sh"}, []string{"-c", "setsid sh -c 'while :; do setsid sleep 300 & sleep 0.001; done' >/dev/null 2>&1 & sleep 0.1"}
		_, err := platform.Run(t.Context(), job)
		require.NoError(t, err)
		require.Empty(t, processesOf(t, job.Dir))
	}
}
