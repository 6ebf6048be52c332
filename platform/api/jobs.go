package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/truncate"
	"github.com/algospec/algospec/platform"
)

// A job is a record and, while it runs, what runs. Service.mu guards it.
type job struct {
	record
	created bool    // its record is kept, and not deleted: it may be told of
	active  bool    // has a slot
	running running // nil before the engine has started it

	starting context.CancelFunc // ends the engine's start, which may wait for S3; nil before

	version uint64 // of the record

	writing sync.Mutex // held by who writes the record; taken before Service.mu
	written uint64     // the version that is kept
}

// messages are those of the statuses that the engine does not tell of.
const (
	startingMessage = "Starting the training job"
	pendingMessage  = "Waiting for other training jobs to end"
	stoppingMessage = "Stopping the training job"
	stoppedMessage  = "Training job stopped"
)

// schedule gives free slots to the jobs that have waited longest. The caller holds s.mu.
func (s *Service) schedule() {
	for s.busy < s.opts.jobs() && len(s.queue) > 0 && !s.closed {
		j := s.queue[0]
		s.queue = s.queue[1:]
		s.busy++
		s.launch(j)
	}
}

// launch runs a job that has got a slot. The caller holds s.mu.
func (s *Service) launch(j *job) {
	j.active = true
	s.workers.Go(func() {
		s.run(j)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy--
		s.schedule()
	})
}

// enqueue makes a job wait its turn. The caller holds s.mu.
func (s *Service) enqueue(j *job) {
	i, _ := slices.BinarySearchFunc(s.queue, j.Number, func(o *job, n uint64) int { return cmp.Compare(o.Number, n) })
	s.queue = slices.Insert(s.queue, i, j)
}

// keep writes the job's record, unless somebody has written a later one.
func (s *Service) keep(j *job) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	s.mu.Lock()
	version, text, deleted := j.version, mustJSON(j.record), !j.created
	s.mu.Unlock()
	if version == j.written || deleted {
		return nil
	}
	if err := s.store.write(write{jobsBucket, j.Name, text}); err != nil {
		return err
	}
	j.written = version
	return nil
}

// change changes a job's record and keeps it. That it cannot be kept stops no job.
func (s *Service) change(j *job, f func(*record)) {
	s.mu.Lock()
	f(&j.record)
	j.version++
	s.mu.Unlock()
	if err := s.keep(j); err != nil {
		s.logger.Error("the record of a training job was not kept", "job", j.Name, "error", err)
	}
}

// run runs a job to its end.
func (s *Service) run(j *job) {
	log := s.lines.job(j.Name, s.logger)
	result, err := s.attempt(j, log)
	log.close()
	if result == nil {
		result = &platform.Result{}
	}
	s.keepPictures(j, result)
	secondary, reason := outcome(result, err)
	s.change(j, func(r *record) {
		j.active, j.running, j.starting = false, nil, nil
		now := time.Now()
		r.ModelArtifacts, r.OutputArtifacts = result.ModelArtifacts, result.Output
		r.TrainingTime += result.TrainingTime
		r.BillableTime += result.BillableTime
		r.FailureReason = reason
		r.FinalMetrics = log.final(result.Metrics, now)
		r.enter(secondary, endMessage(secondary, reason), now)
	})
}

// attempt runs the job in the engine.
func (s *Service) attempt(j *job, log *jobLog) (*platform.Result, error) {
	description, err := s.description(j, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background()) // not the Service's: Close waits for the job
	defer cancel()
	s.mu.Lock()
	j.starting = cancel
	stop := j.StopAsked
	s.mu.Unlock()
	if stop {
		return nil, platform.ErrStopped
	}
	r, err := s.engine.start(ctx, description)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	j.running = r
	stop = j.StopAsked
	s.mu.Unlock()
	if stop {
		r.Stop()
	}
	return r.Wait()
}

// outcome is how a job ended, and why it failed if it did.
func outcome(result *platform.Result, err error) (types.SecondaryStatus, string) {
	var failed *platform.FailedError
	switch {
	case err == nil:
		return types.SecondaryStatusCompleted, ""
	case errors.As(err, &failed):
		return types.SecondaryStatusFailed, failed.Reason
	case errors.Is(err, platform.ErrStopped) && result.SecondaryStatus.Terminal():
		return types.SecondaryStatus(result.SecondaryStatus), ""
	case errors.Is(err, platform.ErrStopped):
		return types.SecondaryStatusStopped, ""
	case algospec.IsClientError(err):
		return types.SecondaryStatusFailed, truncate.Characters("ClientError: "+err.Error(), maxReason)
	}
	return types.SecondaryStatusFailed, truncate.Characters("InternalServerError: "+err.Error(), maxReason)
}

// maxReason is the length of FailureReason.
const maxReason = 1024

func endMessage(s types.SecondaryStatus, reason string) string {
	switch s {
	case types.SecondaryStatusCompleted:
		return "Training job completed"
	case types.SecondaryStatusFailed:
		return reason
	case types.SecondaryStatusMaxRuntimeExceeded:
		return "Training job runtime exceeded MaxRuntimeInSeconds provided"
	case types.SecondaryStatusMaxWaitTimeExceeded:
		return "Training job wait time exceeded MaxWaitTimeInSeconds provided"
	}
	return stoppedMessage
}

// trees is where the trees of the jobs that run are.
func (s *Service) trees() string { return filepath.Join(s.opts.Dir, "jobs") }

// request reads what a job was created with.
func (s *Service) request(name string) (*sagemaker.CreateTrainingJobInput, error) {
	text, err := s.store.read(requestsBucket, name)
	if err == nil && text == nil {
		err = errors.New("no request is kept")
	}
	in := new(sagemaker.CreateTrainingJobInput)
	if err == nil {
		err = Unmarshal(text, in)
	}
	if err != nil {
		return nil, fmt.Errorf("training job %s: %w", name, err)
	}
	return in, nil
}

// description is what the engine is to run for a job.
func (s *Service) description(j *job, log *jobLog) (platform.Job, error) {
	in, err := s.request(j.Name)
	if err != nil {
		return platform.Job{}, err
	}
	description, err := s.opts.Job(in)
	if err != nil {
		return platform.Job{}, err
	}
	if err := os.MkdirAll(s.trees(), 0o755); err != nil {
		return platform.Job{}, err
	}
	s.mu.Lock()
	description.Retries = max(0, description.Retries-j.retried())
	description.MaxRuntime = max(time.Second, description.MaxRuntime-j.trained())
	if description.MaxWait > 0 { // which covers the waiting for a slot, and earlier platforms
		description.MaxWait = max(time.Second, description.MaxWait-time.Since(j.Created))
		description.MaxRuntime = min(description.MaxRuntime, description.MaxWait) // the engine takes no job that may run for longer
	}
	s.mu.Unlock()
	description.Dir = s.trees()
	description.Line, description.Metric = log.line, log.metric
	description.Transition = func(t platform.Transition) {
		if t.Status == platform.Starting || t.Status == platform.Interrupted {
			log.anew()
		}
		if !t.Status.Terminal() { // run tells of the end, with all that belongs to it
			s.change(j, func(r *record) { r.enter(types.SecondaryStatus(t.Status), t.Message, t.Start) })
		}
	}
	return description, nil
}

// recover reads the records and deals with the jobs that were running. Nobody else knows the service yet.
func (s *Service) recover() error {
	if err := platform.Sweep(s.trees()); err != nil {
		return fmt.Errorf("api: cleaning up after jobs that were running: %w", err)
	}
	err := s.store.each(jobsBucket, func(name string, text []byte) error {
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return err
		}
		j := &job{record: r, created: true}
		s.jobs[name], s.arns[r.ARN] = j, j
		s.next = max(s.next, r.Number+1)
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.recoverAlgorithms(); err != nil {
		return err
	}
	for _, j := range s.jobs {
		if j.finished() {
			continue
		}
		if err := s.resume(j); err != nil {
			return err
		}
	}
	return nil
}

// resume decides what becomes of a job that was not at its end when the platform was.
func (s *Service) resume(j *job) error {
	now := time.Now()
	in, err := s.request(j.Name)
	if err != nil {
		return err
	}
	retries := 0
	if in.RetryStrategy != nil && in.RetryStrategy.MaximumRetryAttempts != nil {
		retries = int(*in.RetryStrategy.MaximumRetryAttempts)
	}
	switch {
	case j.Status == types.TrainingJobStatusStopping || j.StopAsked:
		j.enter(types.SecondaryStatusStopped, stoppedMessage, now)
	case j.Secondary == types.SecondaryStatusPending:
		s.enqueue(j)
		return nil
	case j.Started.IsZero(): // nothing has run yet
		j.enter(types.SecondaryStatusPending, pendingMessage, now)
		s.enqueue(j)
	case j.retried() < retries:
		j.Restarts++
		// It waits since it was last heard of: MaxRuntime does not pass while there is no platform.
		j.enter(types.SecondaryStatusPending, "The platform was restarted; the training job starts again", s.heard(j))
		j.Modified = now
		s.enqueue(j)
	default:
		j.FailureReason = "InternalServerError: the platform was restarted while the training job ran"
		j.enter(types.SecondaryStatusFailed, j.FailureReason, now)
	}
	j.version++
	return s.keep(j)
}

// heard is when something was last heard of a job: a status or a line.
func (s *Service) heard(j *job) time.Time {
	at := j.Modified
	if last, err := s.lines.written(j.Name); err == nil && last.After(at) && last.Before(time.Now()) {
		at = last
	}
	return at
}
