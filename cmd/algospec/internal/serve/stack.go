package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/cmd/algospec/internal/config"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/home"
	"github.com/algospec/algospec/platform/api"
	"github.com/algospec/algospec/platform/api/page"
)

// A stack is all that runs, from the bottom: the directory, S3, the service, and HTTP on it.
type stack struct {
	home        *home.Home
	storage     *storage
	service     *api.Service
	http        *http.Server
	broken      chan error // tells when HTTP ends by itself
	environment home.Environment
	pageURL     string
}

// start starts everything, or nothing.
func (p *Platform) start(ctx context.Context, settings *config.Config, streams console.Streams) (_ *stack, err error) {
	s := &stack{broken: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(streams))
		}
	}()
	if s.home, err = home.Open(p.Dir); err != nil {
		return s, err
	}
	if p.EnvFile != "" {
		os.Remove(p.EnvFile) // of one that was killed: others wait for it to appear
	}
	region, account := cmp.Or(settings.Region, "us-east-1"), cmp.Or(settings.Account, "000000000000")
	if s.storage, err = p.openStorage(ctx, filepath.Join(s.home.Dir, "s3"), "sagemaker-"+region+"-"+account); err != nil {
		return s, err
	}
	logger := console.Logger(streams.Err)
	var pages http.Handler // made of the service, which is made with it
	s.service, err = api.Open(api.Options{
		Dir: filepath.Join(s.home.Dir, "jobs"), S3: s.storage.client, Region: region, Account: account,
		Resolve: settings.Resolve, Jobs: settings.Jobs, Grace: settings.Grace,
		Credentials: settings.Credentials, Token: p.Token, FileSystems: settings.FileSystems,
		Page:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages.ServeHTTP(w, r) }),
		Logger: logger,
	})
	if err != nil {
		return s, err
	}
	pages = page.Handler(s.service)
	listener, err := s.service.Listen(p.Listen, p.Public)
	if err != nil {
		return s, taken(err, "--listen")
	}
	s.serveHTTP(listener, logger)
	endpoint := "http://" + reachable(listener.Addr())
	s.environment, err = environment(endpoint, region, s.storage, settings.Credentials, s.home.Dir)
	s.pageURL = endpoint + "/"
	if p.Token != "" {
		s.pageURL += "?token=" + url.QueryEscape(p.Token)
	}
	return s, err
}

// serveHTTP serves the listener until close.
func (s *stack) serveHTTP(listener net.Listener, logger *slog.Logger) {
	s.http = &http.Server{
		Handler: s.service.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.broken <- err
		}
	}()
}

// close ends what runs, from the top; while jobs come to their ends, clients and the page can still ask.
func (s *stack) close(streams console.Streams) error {
	var errs []error
	if s.service != nil {
		if n := s.running(); n > 0 {
			fmt.Fprintf(streams.Err, "stopping %s (Ctrl-C again ends at once)\n", console.Count(int64(n), "job", "jobs"))
		}
		errs = append(errs, s.service.Close())
	}
	if s.http != nil {
		s.http.Close()
	}
	if s.storage != nil {
		errs = append(errs, s.storage.close())
	}
	if s.home != nil {
		errs = append(errs, s.home.Close())
	}
	return errors.Join(errs...)
}

// running counts the jobs that have been started and not ended, as far as one page of the list tells.
func (s *stack) running() (n int) {
	for _, status := range []types.TrainingJobStatus{types.TrainingJobStatusInProgress, types.TrainingJobStatusStopping} {
		in := &sagemaker.ListTrainingJobsInput{StatusEquals: status, MaxResults: aws.Int32(100)}
		out, err := s.service.ListTrainingJobs(context.Background(), in)
		if err != nil {
			continue
		}
		for _, job := range out.TrainingJobSummaries {
			if job.SecondaryStatus != types.SecondaryStatusPending {
				n++
			}
		}
	}
	return n
}

// reachable is an address by which this machine reaches a listener on all of its own.
func reachable(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return address.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}

// taken adds what to do about a port that is in use.
func taken(err error, flag string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w (%s HOST:0 takes any free port)", err, flag)
	}
	return err
}
