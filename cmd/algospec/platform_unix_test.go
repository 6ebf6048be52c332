//go:build unix

package main

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"
)

// sleeper is an algorithm that says so when it runs, and keeps something when it is told to stop.
const sleeper = `trap 'echo half >"$SAGEMAKER_BASE_DIR/model/half"; exit 0' TERM
echo running
while :; do sleep 0.05; done
`

// A process is a command that runs.
type process struct {
	*exec.Cmd
	lines  *bufio.Reader // of stdout
	stderr *bytes.Buffer
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, stderr: new(bytes.Buffer)}
	cmd.Stderr = p.stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p.lines = bufio.NewReader(stdout)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return p
}

// line returns the next line that begins with prefix, without it.
func (p *process) line(t *testing.T, prefix string) string {
	t.Helper()
	for {
		line, err := p.lines.ReadString('\n')
		require.NoError(t, err, "no line %q", prefix)
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix); ok {
			return rest
		}
	}
}

func (p *process) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	require.NoError(t, p.Process.Signal(signal))
	p.Wait()
	return p.ProcessState.ExitCode()
}

// platformAt starts a platform on a directory and returns a client of it once it is ready.
func platformAt(t *testing.T, dir string) (*process, *sagemaker.Client) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "platform.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(config), "sleeper.sh"), []byte(sleeper), 0o644))
	require.NoError(t, os.WriteFile(config, []byte("images: {sleeper: {command: [sh, sleeper.sh]}}\n"), 0o644))
	p := start(t, algospec(t, "platform", "--dir", dir, "--listen", "127.0.0.1:0", "--config", config))
	endpoint := p.line(t, "export AWS_ENDPOINT_URL_SAGEMAKER=")
	p.line(t, "export SAGEMAKER_USER_CONFIG_OVERRIDE=")
	return p, sagemaker.New(sagemaker.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""),
	})
}

func describe(t *testing.T, client *sagemaker.Client, name string) *sagemaker.DescribeTrainingJobOutput {
	t.Helper()
	job, err := client.DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String(name)})
	require.NoError(t, err)
	return job
}

func TestCtrlCStopsTheJobsOfAPlatformAndTheyAreThereTheNextTime(t *testing.T) {
	dir := t.TempDir()
	p, client := platformAt(t, dir)
	_, err := client.CreateTrainingJob(t.Context(), &sagemaker.CreateTrainingJobInput{
		TrainingJobName: aws.String("sleeps"), RoleArn: aws.String("arn:aws:iam::123456789012:role/x"),
		AlgorithmSpecification: &types.AlgorithmSpecification{TrainingImage: aws.String("sleeper"), TrainingInputMode: types.TrainingInputModeFile},
		OutputDataConfig:       &types.OutputDataConfig{S3OutputPath: aws.String("s3://sagemaker-us-east-1-000000000000/out")},
		ResourceConfig:         &types.ResourceConfig{InstanceType: types.TrainingInstanceTypeMlM5Large, InstanceCount: aws.Int32(1), VolumeSizeInGB: aws.Int32(1)},
		StoppingCondition:      &types.StoppingCondition{},
	})
	require.NoError(t, err)
	following := algospec(t, "jobs", "logs", "-f", "sleeps")
	following.Env = append(following.Env, "AWS_ENDPOINT_URL="+*client.Options().BaseEndpoint, "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x")
	log := start(t, following)
	log.line(t, "running")
	require.Equal(t, 0, p.end(t, os.Interrupt), p.stderr)
	require.Contains(t, p.stderr.String(), "stopping 1 job (Ctrl-C again ends at once)\n")

	_, client = platformAt(t, dir)
	job := describe(t, client, "sleeps")
	require.Equal(t, types.TrainingJobStatusStopped, job.TrainingJobStatus)
	require.Equal(t, "s3://sagemaker-us-east-1-000000000000/out/sleeps/output/model.tar.gz", *job.ModelArtifacts.S3ModelArtifacts)
}

func TestASecondPlatformLeavesADirectoryToTheFirst(t *testing.T) {
	dir := t.TempDir()
	p, client := platformAt(t, dir)
	out, err := algospec(t, "platform", "--dir", dir).CombinedOutput()
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, string(out), dir+": another platform uses this directory; --dir names another one")

	out, err = algospec(t, "platform", "--dir", dir, "--print-env").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "export AWS_ENDPOINT_URL_SAGEMAKER="+*client.Options().BaseEndpoint+"\n")
	require.Equal(t, 0, p.end(t, syscall.SIGTERM))
	require.NoFileExists(t, filepath.Join(dir, "environment.json"))
}

func TestAPortThatIsTakenIsToldWithAWayOut(t *testing.T) {
	_, client := platformAt(t, t.TempDir())
	address := strings.TrimPrefix(*client.Options().BaseEndpoint, "http://")
	out, err := algospec(t, "platform", "--dir", t.TempDir(), "--listen", address, "--s3-listen", "127.0.0.1:0").CombinedOutput()
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, string(out), "address already in use (--listen HOST:0 takes any free port)")
	out, err = algospec(t, "platform", "--dir", t.TempDir(), "--listen", "127.0.0.1:0", "--s3-listen", address).CombinedOutput()
	require.ErrorContains(t, err, "exit status 1")
	require.Contains(t, string(out), "address already in use (--s3-listen HOST:0 takes any free port)")
}

func TestThePageOfAPlatformNeedsItsTokenWhichIsAlsoTheSecretKey(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "env")
	require.NoError(t, os.WriteFile(file, []byte("of one that was killed"), 0o644))
	p := start(t, algospec(t, "platform", "--dir", dir, "--listen", "127.0.0.1:0", "--token", "to ken", "--env-file", file))
	endpoint := p.line(t, "export AWS_ENDPOINT_URL_SAGEMAKER=")
	require.Equal(t, "algospec", p.line(t, "export AWS_ACCESS_KEY_ID="))
	require.Equal(t, "'to ken'", p.line(t, "export AWS_SECRET_ACCESS_KEY="))
	p.line(t, "export SAGEMAKER_USER_CONFIG_OVERRIDE=")
	for query, want := range map[string]int{"": 401, "?token=to": 401, "?token=to+ken": 200} {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		answer, err := (&http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}).Get(endpoint + "/" + query)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, want, answer.StatusCode, query)
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, 0, p.end(t, os.Interrupt), p.stderr)
	require.NoFileExists(t, file)
	require.Contains(t, p.stderr.String(), "page  "+endpoint+"/?token=to+ken\n")
}

func TestSIGTERMReachesTheCommandOfAPlatform(t *testing.T) {
	p := start(t, algospec(t, "platform", "--dir", t.TempDir(), "--", "sh", "-c", `trap 'echo told; exit 5' TERM; echo running; while :; do sleep 0.05; done`))
	p.line(t, "running")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.line(t, "told")
	p.Wait()
	require.Equal(t, 5, p.ProcessState.ExitCode())
}

func TestCtrlCEndsARunWithWhatItHadSaved(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sleeper.sh"), []byte(sleeper), 0o644))
	cmd := algospec(t, "run", "--command", "sh sleeper.sh", "--name", "sleeps")
	cmd.Dir = dir
	p := start(t, cmd)
	p.line(t, "running")
	require.Equal(t, 130, p.end(t, os.Interrupt))
	require.Regexp(t, `Stopped +Training job stopped\n(.*\n)*model   sleeps/output/model.tar.gz\n(.*\n)*algospec: stopped\n$`, p.stderr.String())
	require.FileExists(t, filepath.Join(dir, "sleeps", "output", "model.tar.gz"))
}
