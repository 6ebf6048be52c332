package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

// child is a platform in a process of its own, which is killed. It does what its standard input
// says, a line each: "create <job> <retries>", "stop <job>", "many", and answers "done".
func child(dir string) {
	e := &script{run: func(r *scripted) (*platform.Result, error) {
		switch {
		case strings.HasPrefix(r.Name, "stuck"): // in Starting
			r.enter(platform.Starting)
			select {}
		case strings.HasPrefix(r.Name, "deaf"): // does not stop
			r.enter(platform.Starting)
			r.enter(platform.Training)
			select {}
		case strings.HasPrefix(r.Name, "quick"):
			return &platform.Result{TrainingTime: time.Second}, nil
		}
		os.MkdirAll(filepath.Join(r.Dir, "algospec-"+r.Name+"-1", "algo-1"), 0o755) // as the engine's trees are named
		r.enter(platform.Starting)
		r.enter(platform.Training)
		for i := range 300 {
			r.Line(platform.Line{Host: "algo-1", Time: time.UnixMilli(1_700_000_000_000 + int64(i)), Text: fmt.Sprint("line ", i)})
		}
		r.Metric(platform.Metric{Name: "loss", Value: 1, Time: time.Now()})
		select {}
	}}
	s, err := open(Options{Dir: dir, Resolve: resolve, Jobs: 2}, e.engine())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var verb, name string
		var n int32
		fmt.Sscan(lines.Text(), &verb, &name, &n)
		switch verb {
		case "create":
			in := request(name)
			if n > 0 {
				in.RetryStrategy = &types.RetryStrategy{MaximumRetryAttempts: aws.Int32(n)}
			}
			_, err = s.CreateTrainingJob(context.Background(), in)
		case "stop":
			_, err = s.StopTrainingJob(context.Background(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String(name)})
		case "await":
			for {
				out, err := s.DescribeTrainingJob(context.Background(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String(name)})
				points, _ := s.Metrics(name) // one in each attempt, after its record was kept
				attempts := strings.Count(strings.Join(statuses(out), " "), "Training")
				if err != nil || out.SecondaryStatus == types.SecondaryStatusTraining && (len(points) == attempts || strings.HasPrefix(name, "deaf")) {
					break
				}
				time.Sleep(time.Millisecond)
			}
		case "many":
			for i := range 8 {
				go func() {
					for j := 0; ; j++ {
						name := fmt.Sprintf("quick-%d-%d", i, j)
						if _, err := s.CreateTrainingJob(context.Background(), request(name)); err == nil {
							fmt.Println("created", name)
						}
					}
				}()
			}
		}
		fmt.Println("done", err)
	}
	select {}
}

// A platformProcess is a child.
type platformProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startPlatform(t *testing.T, dir string) *platformProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ALGOSPEC_TEST_PLATFORM="+dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &platformProcess{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(p.kill)
	p.expect("done")
	return p
}

func (p *platformProcess) expect(want string) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	require.Equal(p.t, want, strings.TrimSpace(line))
}

func (p *platformProcess) do(line string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, line)
	require.NoError(p.t, err)
	p.expect("done <nil>")
}

func (p *platformProcess) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func TestWhatBecomesOfJobsWhenThePlatformIsKilled(t *testing.T) {
	for _, c := range []struct {
		name string
		do   []string
		job  string
		want []string // its transitions once it is open again and all has ended
		runs []string // in the new platform
		why  string
	}{
		{"it runs and has no attempt left", []string{"create job 0", "await job"}, "job", []string{"Starting", "Training", "Failed"}, nil,
			"InternalServerError: the platform was restarted while the training job ran"},
		{"it runs and has an attempt left", []string{"create job 1", "await job"}, "job", []string{"Starting", "Training", "Pending", "Starting", "Training", "Completed"}, []string{"job"}, ""},
		{"it had not begun", []string{"create stuck 0"}, "stuck", []string{"Starting", "Pending", "Starting", "Training", "Completed"}, []string{"stuck"}, ""},
		{"it waited", []string{"create deaf-1 0", "create deaf-2 0", "create job 0"}, "job", []string{"Pending", "Starting", "Training", "Completed"}, []string{"job"}, ""},
		{"it was stopping", []string{"create deaf 3", "await deaf", "stop deaf"}, "deaf", []string{"Starting", "Training", "Stopping", "Stopped"}, nil, ""},
		{"it waited and was stopped", []string{"create deaf-1 0", "create deaf-2 0", "create job 0", "stop job"}, "job", []string{"Pending", "Stopped"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			p := startPlatform(t, dir)
			for _, line := range c.do {
				p.do(line)
			}
			p.kill()

			e := &script{run: func(r *scripted) (*platform.Result, error) {
				r.enter(platform.Starting)
				r.enter(platform.Training)
				left, err := os.ReadDir(r.Dir)
				if err != nil || len(left) > 0 {
					return nil, fmt.Errorf("left: %v, %v", left, err)
				}
				return &platform.Result{}, nil
			}}
			s := newService(t, e, func(o *Options) { o.Dir = dir })
			out := ended(t, s, c.job)
			require.Equal(t, c.want, statuses(out), aws.ToString(out.FailureReason))
			require.Equal(t, c.why, aws.ToString(out.FailureReason))
			if c.runs != nil {
				require.Subset(t, e.order, c.runs)
			} else {
				require.NotContains(t, e.order, c.job)
			}
			create(t, s, request("later"))
			ended(t, s, "later")
		})
	}
}

// A restart of the platform takes one of the attempts that RetryStrategy allows.
func TestAJobDoesNotStartAgainForEver(t *testing.T) {
	dir := t.TempDir()
	p := startPlatform(t, dir)
	p.do("create job 2")
	for range 3 {
		p.do("await job")
		p.kill()
		p = startPlatform(t, dir)
	}
	p.kill()
	s := newService(t, &script{}, func(o *Options) { o.Dir = dir })
	out := ended(t, s, "job")
	require.Equal(t, []string{"Starting", "Training", "Pending", "Starting", "Training", "Pending", "Starting", "Training", "Failed"}, statuses(out))
}

// MaxRuntime covers all attempts together, and not the time in which no platform was there.
func TestMaxRuntimeDoesNotPassWithoutAPlatform(t *testing.T) {
	dir := t.TempDir()
	p := startPlatform(t, dir)
	p.do("create job 1")
	p.do("await job")
	p.kill()
	store, err := openStore(dir)
	require.NoError(t, err)
	text, err := store.read(jobsBucket, "job")
	require.NoError(t, err)
	var r record
	require.NoError(t, json.Unmarshal(text, &r))
	const away = 24 * time.Hour
	r.Modified = r.Modified.Add(-away)
	last := &r.Transitions[len(r.Transitions)-1]
	last.Start = last.Start.Add(-away)
	require.NoError(t, store.write(write{jobsBucket, "job", mustJSON(r)}))
	require.NoError(t, store.close())
	heard := last.Start.Add(10 * time.Minute)
	logs, err := filepath.Glob(filepath.Join(dir, "logs", "job", "*.log"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	require.NoError(t, os.Chtimes(logs[0], heard, heard))

	var left time.Duration
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		left = r.MaxRuntime
		return &platform.Result{}, nil
	}}, func(o *Options) { o.Dir = dir })
	out := ended(t, s, "job")
	require.WithinDuration(t, time.Now(), *out.LastModifiedTime, time.Minute)
	require.InDelta(t, 50*time.Minute, left, float64(5*time.Minute)) // and not 60, or 10
}

func TestALogOutlivesThePlatform(t *testing.T) {
	dir := t.TempDir()
	p := startPlatform(t, dir)
	p.do("create job 1")
	p.do("await job")
	p.kill()
	// What a power failure may leave: the beginning of a line.
	logs, err := filepath.Glob(filepath.Join(dir, "logs", "job", "*.log"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	for _, path := range []string{logs[0], filepath.Join(dir, "logs", "job", "metrics.json")} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString("17000000")
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}

	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		r.Line(platform.Line{Host: "algo-1", Time: time.UnixMilli(1_700_000_000_500), Text: "again"})
		r.Metric(platform.Metric{Name: "loss", Value: 2, Time: time.Now()})
		return &platform.Result{}, nil
	}}, func(o *Options) { o.Dir = dir })
	ended(t, s, "job")
	streams, err := s.LogStreams("job")
	require.NoError(t, err)
	require.Len(t, streams, 2)
	require.Equal(t, LogStream{Name: "job/algo-1-1700000000", Host: "algo-1", First: time.UnixMilli(1_700_000_000_000).UTC(), Last: time.UnixMilli(1_700_000_000_299).UTC(), Lines: 300}, streams[0])
	require.Equal(t, "job/algo-1-1700000001", streams[1].Name)
	for from := 0; from <= 300; from += 50 {
		lines, err := s.LogLines(streams[0].Name, from, 50)
		require.NoError(t, err)
		require.Len(t, lines, min(50, 300-from))
		for i, line := range lines {
			require.Equal(t, fmt.Sprint("line ", from+i), line.Text)
		}
	}
	points, err := s.Metrics("job")
	require.NoError(t, err)
	require.Len(t, points, 2)
	require.Equal(t, 2.0, points[1].Value)
}

// Whatever CreateTrainingJob has answered for is there after a kill, at whichever moment it comes.
func TestNoJobThatWasCreatedIsLost(t *testing.T) {
	for round := range 4 {
		dir := t.TempDir()
		p := startPlatform(t, dir)
		_, err := fmt.Fprintln(p.in, "many")
		require.NoError(t, err)
		created := map[string]bool{}
		for len(created) < 20+30*round {
			line, err := p.out.ReadString('\n')
			require.NoError(t, err)
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "created "); ok {
				created[name] = true
			}
		}
		p.kill()
		s := newService(t, &script{}, func(o *Options) { o.Dir = dir })
		for name := range created {
			out := ended(t, s, name)
			if out.TrainingJobStatus == types.TrainingJobStatusFailed {
				require.Contains(t, *out.FailureReason, "restarted")
			}
		}
	}
}

func TestOnePlatformAtATimeUsesADirectory(t *testing.T) {
	s := newService(t, &script{})
	_, err := Open(s.opts)
	require.EqualError(t, err, "api: "+s.opts.Dir+": another platform uses this directory")
	_, err = Open(Options{})
	require.EqualError(t, err, "api: no directory for the records")
}

func TestRecordsThatAreDamaged(t *testing.T) {
	whole := newService(t, &script{})
	for i := range 100 {
		create(t, whole, request(fmt.Sprint("job-", i)))
	}
	for i := range 100 {
		ended(t, whole, fmt.Sprint("job-", i))
	}
	require.NoError(t, whole.Close())
	records, err := os.ReadFile(filepath.Join(whole.opts.Dir, "records.db"))
	require.NoError(t, err)
	// reopen opens a directory with these records, in which all or nothing must be found.
	reopen := func(t *testing.T, records []byte) {
		opts := whole.opts
		opts.Dir = t.TempDir()
		path := filepath.Join(opts.Dir, "records.db")
		require.NoError(t, os.WriteFile(path, records, 0o600))
		s, err := open(opts, (&script{}).engine())
		if err != nil {
			require.ErrorContains(t, err, "api: "+path+": ")
			return
		}
		require.Len(t, s.jobs, 100)
		for name := range s.jobs {
			_, err := s.DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String(name)})
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
	}
	for n := len(records) / 16; n < len(records); n += len(records) / 16 {
		t.Run(fmt.Sprintf("cut to %d bytes", n), func(t *testing.T) { reopen(t, records[:n]) })
		t.Run(fmt.Sprintf("other bytes from %d on", n), func(t *testing.T) {
			damaged := bytes.Clone(records)
			copy(damaged[n&^4095:], bytes.Repeat([]byte{0xa5}, 10*4096))
			reopen(t, damaged)
		})
	}
	t.Run("something else", func(t *testing.T) { reopen(t, []byte(strings.Repeat("no records\n", 1000))) })
}

func TestCloseStopsWhatRunsAndKeepsWhatWaits(t *testing.T) {
	e := &script{run: untilStopped}
	s := newService(t, e, func(o *Options) { o.Jobs = 1 })
	create(t, s, request("runs"))
	create(t, s, request("waits"))
	await(t, s, "runs", in(types.SecondaryStatusTraining))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
	_, err := s.CreateTrainingJob(t.Context(), request("late"))
	require.EqualError(t, err, "api error ServiceUnavailable: The platform is shutting down.")
	_, err = s.DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String("runs")})
	require.Error(t, err)

	again := newService(t, &script{}, func(o *Options) { o.Dir = s.opts.Dir })
	require.Equal(t, []string{"Starting", "Training", "Stopping", "Stopped"}, statuses(ended(t, again, "runs")))
	require.Equal(t, types.TrainingJobStatusCompleted, ended(t, again, "waits").TrainingJobStatus)
	require.Equal(t, []string{"runs"}, e.order)
}
