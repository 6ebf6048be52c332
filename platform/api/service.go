package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/algospec/algospec/platform"
)

// Options say what a Service works with.
type Options struct {
	Dir     string     // holds the records of jobs, and the trees of those that run; one Service at a time uses it
	S3      *s3.Client // where channels and outputs are
	Region  string     // "" means us-east-1
	Account string     // of ARNs; "" means 000000000000

	// Resolve finds the algorithm that a TrainingImage stands for. Its error is a ValidationException.
	Resolve func(image string) (Algorithm, error)

	Jobs        int               // that run at once, the others being Pending; 0 means 4
	Grace       time.Duration     // between SIGTERM and SIGKILL; 0 means 120 s
	Credentials map[string]string // secret keys by access key; where there are any, requests must be signed with one (SigV4)
	Token       string            // where not empty, requests that are not signed must bring it; see Handler
	FileSystems map[string]string // the directories of this machine that stand for file systems, by FileSystemId
	Page        http.Handler      // the page for people: what is no request of the API; nil answers 404
	Logger      *slog.Logger      // nil discards
}

// An Algorithm is what runs for an image: a program, or the image itself in podman or docker.
type Algorithm struct {
	Command     []string
	Image       string
	Environment map[string]string // of the program, below what the request sets

	// Metrics are those of a built-in algorithm: jobs have them, and CreateTrainingJob refuses others.
	Metrics []platform.MetricDefinition
}

func (o Options) jobs() int {
	if o.Jobs <= 0 {
		return 4
	}
	return o.Jobs
}

// A Service runs training jobs and remembers them. It is the API without HTTP: requests and answers are the
// SDK's types. Its errors are smithy.APIErrors, with the service's codes.
type Service struct {
	opts    Options
	engine  engine
	store   *store
	lines   *lineLog
	logger  *slog.Logger
	checks  chan struct{}   // has room for as many checks of requests as may run at once
	ctx     context.Context // done once it closes
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	jobs       map[string]*job       // by name
	arns       map[string]*job       // the same, by ARN
	next       uint64                // number of the next job
	busy       int                   // slots that are taken
	queue      []*job                // Pending, in the order of creation
	algorithms map[string]*algorithm // by name

	tagging  sync.Mutex // held while tags are read and written; taken before mu
	creating sync.Mutex // held while an algorithm is made or removed; taken before mu
}

// An engine is platform.Start and platform.Check, or a script in tests.
type engine struct {
	start func(context.Context, platform.Job) (running, error)
	check func(context.Context, platform.Job) error
}

// A running is a *platform.Running.
type running interface {
	Stop()
	Interrupt()
	Wait() (*platform.Result, error)
	Progress() platform.Progress
}

var theEngine = engine{
	start: func(ctx context.Context, job platform.Job) (running, error) {
		r, err := platform.Start(ctx, job)
		if err != nil { // and no running that holds a nil
			return nil, err
		}
		return r, nil
	},
	check: platform.Check,
}

// Open opens the records in opts.Dir. Jobs that an earlier Service left running are cleaned up after, and start
// again if their RetryStrategy leaves them an attempt, or are Failed; those that were Pending run.
func Open(opts Options) (*Service, error) { return open(opts, theEngine) }

func open(opts Options, engine engine) (*Service, error) {
	store, err := openStore(opts.Dir)
	if err != nil {
		return nil, err
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{
		opts: opts, engine: engine, store: store, logger: logger, ctx: ctx, cancel: cancel,
		lines:  &lineLog{dir: filepath.Join(opts.Dir, "logs"), open: map[string]*stream{}},
		checks: make(chan struct{}, 8), jobs: map[string]*job{}, arns: map[string]*job{}, algorithms: map[string]*algorithm{},
	}
	if err := s.recover(); err != nil {
		cancel()
		return nil, errors.Join(err, store.close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedule()
	return s, nil
}

// Close stops taking requests and stops the jobs that run, as StopTrainingJob does: what they had saved is stored, and
// they are Stopped. It waits for their ends. Jobs that were Pending stay so and run when the records are opened again.
func (s *Service) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for _, j := range s.jobs {
		if j.active {
			s.stop(j)
		}
	}
	s.mu.Unlock()
	s.cancel()
	s.workers.Wait()
	return s.store.close()
}

var errClosed = &smithy.GenericAPIError{Code: "ServiceUnavailable", Message: "The platform is shutting down.", Fault: smithy.FaultServer}
