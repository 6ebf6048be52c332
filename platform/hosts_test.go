package platform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform"
)

// A hostReport is what a host of a test saw.
type hostReport struct {
	Resources cluster.Config
	Channels  map[string]channel.Config
	Data      map[string][]string // per channel: its files and their text; or the text of its pipe
	Heard     string              // what the host before has said
	Args      []string
}

// meetPeers saves the host's report in the model, and talks to the next host where names resolve.
func meetPeers(ctx context.Context, job *algospec.Job) error {
	var report hostReport
	base := job.Getenv("SAGEMAKER_BASE_DIR")
	for name, v := range map[string]any{"resourceconfig.json": &report.Resources, "inputdataconfig.json": &report.Channels} {
		text, err := os.ReadFile(filepath.Join(base, "input/config", name))
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			return err
		}
	}
	report.Args = os.Args[1:]
	report.Data = map[string][]string{}
	for name, c := range job.Channels {
		var err error
		if report.Data[name], err = read(ctx, c, filepath.Join(base, "input/data", name)); err != nil {
			return err
		}
	}
	if len(report.Resources.Hosts) > 1 && os.Getenv("PLATFORM_TEST_CONTAINER") != "" {
		var err error
		if report.Heard, err = hear(report.Resources); err != nil {
			return err
		}
	}
	return job.Model.Save(job.Host+".json", algospec.JSON(report))
}

func read(ctx context.Context, c *channel.Channel, dir string) (found []string, err error) {
	if c.Config.Pipe() {
		epoch, err := c.Open(ctx)
		if err != nil {
			return nil, err
		}
		defer epoch.Close()
		text, err := io.ReadAll(epoch)
		return append(found, string(text)), err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found = append(found, strings.TrimPrefix(path, dir+"/")+"="+string(text))
		return err
	})
	return found, err
}

// hear takes the name of the host before this one in the ring, and tells the next its own, all on the
// same port.
func hear(c cluster.Config) (string, error) {
	listener, err := net.Listen("tcp", c.CurrentHost+":7531")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	next := c.Hosts[(slices.Index(c.Hosts, c.CurrentHost)+1)%len(c.Hosts)]
	for {
		conn, err := net.Dial("tcp", next+":7531")
		if err == nil {
			io.WriteString(conn, c.CurrentHost)
			conn.Close()
			break
		}
		time.Sleep(10 * time.Millisecond) // it may not listen yet
	}
	conn, err := listener.Accept()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	return string(text), err
}

// failOn waits until it is told to stop, but on one host, which fails once all others wait.
func failOn(ctx context.Context, job *algospec.Job, host string) error {
	path := func(name string) string { return filepath.Join(job.Getenv("SAGEMAKER_BASE_DIR"), "..", name) }
	if job.Host != host {
		if err := os.WriteFile(path(job.Host+"-waits"), nil, 0o644); err != nil {
			return err
		}
		<-ctx.Done()
		job.Println("told")
		return context.Cause(ctx)
	}
	if err := until(ctx, func() bool { return exists(path("algo-1-waits")) && exists(path("algo-3-waits")) }); err != nil {
		return err
	}
	if err := job.Output.Save("why", strings.NewReader("no reason")); err != nil {
		return err
	}
	switch job.HyperParameters["script"] {
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "client":
		return algospec.ClientErrorf("bad row")
	}
	return fmt.Errorf("no luck")
}

// reports runs the job and returns what its hosts reported.
func reports(t *testing.T, job platform.Job) map[string]hostReport {
	t.Helper()
	job.HyperParameters = hyperparams.Map{"mode": "peers"}
	var log bytes.Buffer
	job.Log = &log
	result, err := run(t, t.Context(), job)
	require.NoError(t, err, log.String())
	found := map[string]hostReport{}
	s3, _ := job.S3, result
	for name, text := range files(t, s3, result.ModelArtifacts) {
		var report hostReport
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		found[strings.TrimSuffix(name, ".json")] = report
	}
	return found
}

func TestHostsHaveTreesOfTheirOwnAndNamesThatResolve(t *testing.T) {
	bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
		job := as(newJob(t, newServer(t)))
		job.InstanceCount, job.InstanceType = 3, "ml.m5.large"
		seen := reports(t, job)
		require.Equal(t, 3, len(seen))
		for i, name := range []string{"algo-1", "algo-2", "algo-3"} {
			report := seen[name]
			all := []string{"algo-1", "algo-2", "algo-3"}
			require.Equal(t, cluster.Config{
				CurrentHost: name, Hosts: all, NetworkInterfaceName: "lo", CurrentInstanceType: "ml.m5.large", CurrentGroupName: "homogeneousCluster",
				InstanceGroups: []cluster.InstanceGroup{{Name: "homogeneousCluster", InstanceType: "ml.m5.large", Hosts: all}},
			}, report.Resources)
			require.Equal(t, digest(data, 1), digest([]byte(strings.Join(report.Data["train"], "")), 1), "each host has the whole channel")
			if job.Command != nil && os.Geteuid() == 0 {
				require.Equal(t, all[(i+2)%3], report.Heard)
			}
		}
	})
}

func TestShardsGoToTheHostsInTurns(t *testing.T) {
	server := newServer(t)
	for i := range 10 {
		require.NoError(t, server.Put("data", fmt.Sprintf("many/%d", i), strings.NewReader(fmt.Sprint(i))))
	}
	require.NoError(t, server.Put("data", "manifest", strings.NewReader(`[{"prefix":"s3://data/many/"},"3","1","4","5"]`)))
	job := newJob(t, server)
	job.InstanceCount = 3
	sharded := func(name, mode string) platform.Channel {
		return platform.Channel{Name: name, S3URI: "s3://data/many/", InputMode: mode, S3DataDistributionType: "ShardedByS3Key"}
	}
	few := sharded("few", "File")
	few.S3URI = "s3://data/many/7"
	listed := sharded("listed", "Pipe")
	listed.S3URI, listed.S3DataType = "s3://data/manifest", "ManifestFile"
	fewPiped := few
	fewPiped.Name, fewPiped.InputMode = "few-piped", "Pipe"
	job.Channels = []platform.Channel{sharded("pipe", "Pipe"), sharded("file", "File"), few, fewPiped, listed}
	if os.Geteuid() == 0 {
		job.Channels = append(job.Channels, sharded("fast", "FastFile"))
	}
	seen := reports(t, job)
	for i, want := range []map[string][]string{
		{"pipe": {"0369"}, "file": {"0=0", "3=3", "6=6", "9=9"}, "few": {"7=7"}, "few-piped": {"7"}, "listed": {"35"}},
		{"pipe": {"147"}, "file": {"1=1", "4=4", "7=7"}, "few": nil, "few-piped": {""}, "listed": {"1"}},
		{"pipe": {"258"}, "file": {"2=2", "5=5", "8=8"}, "few": nil, "few-piped": {""}, "listed": {"4"}},
	} {
		if os.Geteuid() == 0 {
			want["fast"] = want["file"]
		}
		require.Equal(t, want, seen[fmt.Sprintf("algo-%d", i+1)].Data)
	}
}

func TestInstanceGroupsGetTheChannelsThatNameThem(t *testing.T) {
	server := newServer(t)
	for i := range 4 {
		require.NoError(t, server.Put("data", fmt.Sprintf("many/%d", i), strings.NewReader(fmt.Sprint(i))))
	}
	job := newJob(t, server)
	job.InstanceGroups = []platform.InstanceGroup{{Name: "cpus", InstanceType: "ml.c5.large", InstanceCount: 1}, {Name: "gpus", InstanceType: "ml.p3.2xlarge", InstanceCount: 2}}
	job.Channels = []platform.Channel{
		{Name: "all", S3URI: "s3://data/many/", S3DataDistributionType: "ShardedByS3Key"},
		{Name: "some", S3URI: "s3://data/many/", S3DataDistributionType: "ShardedByS3Key", InstanceGroupNames: []string{"gpus"}},
	}
	seen := reports(t, job)
	groups := []cluster.InstanceGroup{
		{Name: "cpus", InstanceType: "ml.c5.large", Hosts: []string{"algo-1"}},
		{Name: "gpus", InstanceType: "ml.p3.2xlarge", Hosts: []string{"algo-2", "algo-3"}},
	}
	for host, want := range map[string]map[string][]string{
		"algo-1": {"all": {"03"}},
		"algo-2": {"all": {"1"}, "some": {"02"}},
		"algo-3": {"all": {"2"}, "some": {"13"}},
	} {
		report := seen[host]
		require.Equal(t, want, report.Data, host)
		require.Len(t, report.Channels, len(want), "a channel of other groups is not listed")
		require.Equal(t, groups, report.Resources.InstanceGroups)
	}
	require.Equal(t, "ml.c5.large", seen["algo-1"].Resources.CurrentInstanceType)
	require.Equal(t, "gpus", seen["algo-3"].Resources.CurrentGroupName)
}

func TestTenHostsAreListedAsTheServiceDoes(t *testing.T) {
	job := newJob(t, newServer(t))
	job.InstanceCount = 11
	seen := reports(t, job)
	require.Equal(t, []string{"algo-1", "algo-10", "algo-11", "algo-2"}, seen["algo-7"].Resources.Hosts[:4])
}

func TestAHostThatFailsTakesTheOthersWithIt(t *testing.T) {
	for script, want := range map[string]string{
		"":       "AlgorithmError: algo-2: no luck, exit code: 1",
		"client": "ClientError: algo-2: bad row, exit code: 2",
		"kill":   "AlgorithmError: algo-2: the process ended abruptly, exit code: 137",
	} {
		bothWays(t, func(t *testing.T, as func(platform.Job) platform.Job) {
			if as(platform.Job{}).Command == nil && script == "kill" {
				t.Skip("a goroutine cannot be killed")
			}
			server := newServer(t)
			job := as(newJob(t, server))
			job.InstanceCount = 3
			job.HyperParameters = hyperparams.Map{"mode": "fails", "host": "algo-2", "script": script}
			var log bytes.Buffer
			job.Log = &log
			began := time.Now()
			result, err := run(t, t.Context(), job)
			var failed *platform.FailedError
			require.ErrorAs(t, err, &failed, log.String())
			require.Equal(t, want, failed.Reason)
			require.Less(t, time.Since(began), job.Grace+60*time.Second)
			require.Contains(t, log.String(), "algo-1 | told\n")
			require.Contains(t, log.String(), "algo-3 | told\n")
			require.Empty(t, result.ModelArtifacts)
			require.Equal(t, map[string]string{"why": "no reason"}, files(t, server.Client(), result.Output))
			require.Equal(t, platform.Failed, result.SecondaryStatus)
			require.Len(t, result.Hosts, 3)
			require.Equal(t, result.ExitCode, result.Hosts[1].ExitCode)
		})
	}
}

func TestEntryPointsAndArgumentsReachTheAlgorithm(t *testing.T) {
	server := newServer(t)
	for name, c := range map[string]struct {
		entrypoint, arguments, want []string
	}{
		"neither":   {nil, nil, []string{"train"}},
		"entry":     {[]string{os.Args[0], "go"}, nil, []string{"go"}},
		"arguments": {nil, []string{"a", "b c"}, []string{"a", "b c"}},
		"both":      {[]string{os.Args[0], "go"}, []string{"x"}, []string{"go", "x"}},
		"none":      {nil, []string{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			job := asCommand(newJob(t, server))
			job.Entrypoint, job.Arguments = c.entrypoint, c.arguments
			if c.entrypoint != nil {
				job.Command = []string{"true"}
			}
			require.Equal(t, c.want, reports(t, job)["algo-1"].Args)
		})
	}
}

func TestHostsThatMakeNoSenseAreRefused(t *testing.T) {
	server := newServer(t)
	for want, change := range map[string]func(*platform.Job){
		"-1 hosts":            func(j *platform.Job) { j.InstanceCount = -1 },
		"more than 100 hosts": func(j *platform.Job) { j.InstanceCount = 101 },
		"instance groups stand instead of": func(j *platform.Job) {
			j.InstanceCount, j.InstanceGroups = 1, []platform.InstanceGroup{{Name: "a", InstanceType: "", InstanceCount: 1}}
		},
		`instance group "a": twice`: func(j *platform.Job) {
			j.InstanceGroups = []platform.InstanceGroup{{Name: "a", InstanceType: "", InstanceCount: 1}, {Name: "a", InstanceType: "", InstanceCount: 1}}
		},
		`instance group "a": 0 hosts`: func(j *platform.Job) {
			j.InstanceGroups = []platform.InstanceGroup{{Name: "a", InstanceType: "", InstanceCount: 0}}
		},
		"an instance group without a name": func(j *platform.Job) {
			j.InstanceGroups = []platform.InstanceGroup{{Name: "", InstanceType: "", InstanceCount: 1}}
		},
		`channel train: no instance group "b"`:    func(j *platform.Job) { j.Channels[0].InstanceGroupNames = []string{"b"} },
		"MaxWait: only with Spot":                 func(j *platform.Job) { j.MaxWait = time.Hour },
		"MaxWait 1s: less than MaxRuntime 2s":     func(j *platform.Job) { j.Spot, j.MaxWait, j.MaxRuntime = true, time.Second, 2*time.Second },
		"OutputCompression":                       func(j *platform.Job) { j.OutputCompression = "ZIP" },
		`environment variable "": want a name`:    func(j *platform.Job) { j.Environment = map[string]string{"": "x"} },
		`environment variable "a=b": want a name`: func(j *platform.Job) { j.Environment = map[string]string{"a=b": "x"} },
		`environment variable "a": want`:          func(j *platform.Job) { j.Environment = map[string]string{"a": "x\x00"} },
		"a Trainer has no entry point":            func(j *platform.Job) { j.Entrypoint = []string{"x"} },
		"local path \"x\": want an absolute":      func(j *platform.Job) { j.Checkpoints = platform.Checkpoints{S3URI: "s3://data/c", LocalPath: "x"} },
		"is the platform's own": func(j *platform.Job) {
			j.Checkpoints = platform.Checkpoints{S3URI: "s3://data/c", LocalPath: "/opt/ml/x/../input/data/c"}
		},
		"holds the platform's own": func(j *platform.Job) {
			j.Checkpoints = platform.Checkpoints{S3URI: "s3://data/c", LocalPath: "/opt"}
		},
		"a local path without an S3 URI": func(j *platform.Job) { j.Checkpoints.LocalPath = "/x" },
		"the name of the list of channel a": func(j *platform.Job) {
			j.Channels = []platform.Channel{{Name: "a", S3URI: "s3://data/train/", InputMode: "File"}, {Name: "a-manifest", S3URI: "s3://data/train/"}}
		},
	} {
		t.Run(want, func(t *testing.T) {
			job := newJob(t, server)
			change(&job)
			_, err := platform.Run(t.Context(), job)
			require.ErrorContains(t, err, want)
			require.True(t, algospec.IsClientError(err))
			require.Equal(t, err.Error(), platform.Check(t.Context(), job).Error())
		})
	}
}

// leaveStray starts a process in a session of its own that would live for long.
func leaveStray() error {
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}
