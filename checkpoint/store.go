package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Options say whose snapshots a store keeps. The zero value is that of one host and every default.
type Options struct {
	Host    string  // this host, as in the names of files, so each has one of its own; "" means algo-1
	Cluster Cluster // the hosts; nil means one. A *cluster.Cluster is one

	// LeaderOnly is for a state that all hosts have alike: the leader saves it, and all restore it, also
	// when there are more or fewer hosts. Otherwise each host saves and restores its own.
	LeaderOnly bool

	// HyperParameters are those of the job. Snapshots of others are refused, unless
	// AnyHyperParameters is set, or only keys in MayDiffer have other values, such as epochs.
	HyperParameters    map[string]string
	MayDiffer          []string
	AnyHyperParameters bool

	Keep   int          // snapshots kept; 0 means 3, as less does for hosts that need a step in common
	Logger *slog.Logger // told of damaged snapshots, and of what cannot be deleted; nil discards
}

// Cluster is what a store needs of the hosts; each method is called by all of them alike. Gather
// returns the messages by rank on the host of rank 0, which is the leader.
type Cluster interface {
	Rank() int
	Size() int
	Gather(ctx context.Context, message []byte) ([][]byte, error)
	Broadcast(ctx context.Context, root int, x []float64) error
	AllReduce(ctx context.Context, x []float64) error
}

// A Store keeps the snapshots of one host in a directory. Its methods may be called from several
// goroutines, except that calls which concern all hosts, Restore and LastCommon, have an order.
type Store struct {
	dir  string
	opts Options
	disk disk

	turn   chan struct{} // a token, which who saves holds; it guards what is below
	lock   io.Closer     // nil until the first Save
	serial int64         // of the newest snapshot
	found  int64         // what serial was at the first Save
	base   int64         // the serial of the snapshot that was restored; 0 for none
	step   int64         // of that snapshot
	run    string        // of this run of the hosts
	common *held         // what LastCommon found; nil for nothing
	closed bool
}

// NewStore returns a store in a directory, which the first Save makes if need be.
func NewStore(dir string, opts Options) *Store {
	opts.Host = cmp.Or(opts.Host, "algo-1")
	opts.HyperParameters, opts.MayDiffer = maps.Clone(opts.HyperParameters), slices.Clone(opts.MayDiffer)
	if opts.Keep <= 0 {
		opts.Keep = 3
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Store{dir: dir, opts: opts, disk: osDisk{}, turn: make(chan struct{}, 1)}
}

// Close lets another store save here, when a Save that is under way has ended. Saving is an error from then on.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer s.release()
	s.closed = true
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

func (s *Store) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Store) release() { <-s.turn }

// keep returns how many snapshots are kept. Of the hosts that need a step in common, one may have saved a step and a last
// one of its own while another was killed at the first of them, so that the one before must be there.
func (s *Store) keep() int {
	if s.size() > 1 && !s.opts.LeaderOnly {
		return max(3, s.opts.Keep)
	}
	return s.opts.Keep
}

func (s *Store) check() error {
	switch {
	case s.dir == "":
		return errors.New("checkpoint: no directory")
	case !hostForm.MatchString(s.opts.Host) || s.opts.Host == leader:
		return fmt.Errorf("checkpoint: host %.200q cannot be part of a file's name", s.opts.Host)
	}
	return nil
}

func (s *Store) rank() int {
	if s.opts.Cluster == nil {
		return 0
	}
	return s.opts.Cluster.Rank()
}

func (s *Store) size() int {
	if s.opts.Cluster == nil {
		return 1
	}
	return s.opts.Cluster.Size()
}

// host returns what the names of this host's snapshots have in the host's place.
func (s *Store) host() string {
	if s.opts.LeaderOnly {
		return leader
	}
	return s.opts.Host
}

// name returns the name of the file of a step. Hyperparameters are part of it, so that no job writes over the
// snapshots of a different one.
func (s *Store) name(step int64) Name {
	return Name{step, s.host(), digest(s.opts.HyperParameters, s.opts.MayDiffer)}
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// A file is one of this host's snapshots, as far as its header tells.
type file struct {
	Name
	path     string
	snapshot Snapshot
	err      error // that kept the header from being read
}

// at adds to an error which snapshot it concerns.
func (f *file) at(err error) error { return &Error{Step: f.Step, Path: f.path, Err: err} }

// files returns this host's snapshots: first those whose headers cannot be read, then the others, the newest first.
// Marked are the names that each of the service's markers is beside.
func (s *Store) files(ctx context.Context) (files []*file, marked map[string][]string, err error) {
	entries, err := s.disk.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	marked = map[string][]string{}
	for _, entry := range entries {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		for _, marker := range []string{uploading, uploaded} {
			if name, ok := strings.CutSuffix(entry.Name(), marker); ok {
				marked[marker] = append(marked[marker], name)
			}
		}
		name, ok := ParseName(entry.Name())
		if !ok || name.Host != s.host() || !entry.Type().IsRegular() {
			continue
		}
		f := &file{Name: name, path: s.path(entry.Name())}
		f.snapshot, f.err = s.header(f)
		if !errors.Is(f.err, fs.ErrNotExist) { // deleted since
			files = append(files, f)
		}
	}
	slices.SortFunc(files, order)
	return files, marked, nil
}

// order returns files that cannot be read, then the others, the newest first.
func order(a, b *file) int {
	switch {
	case a.err != nil && b.err == nil:
		return -1
	case a.err == nil && b.err != nil:
		return 1
	}
	return cmp.Or(newer(&a.snapshot, &b.snapshot), cmp.Compare(b.Step, a.Step))
}

// readable returns the error of the first file that could not be read, whatever it holds.
func readable(files []*file) error {
	for _, f := range files {
		if f.err != nil && !isDamage(f.err) {
			return f.at(f.err)
		}
	}
	return nil
}

// header reads what is kept beside a state.
func (s *Store) header(f *file) (Snapshot, error) {
	src, reader, err := s.open(f)
	if err != nil {
		return Snapshot{}, err
	}
	defer src.Close()
	snapshot, err := reader.Snapshot()
	if err == nil {
		err = f.Check(&snapshot)
	}
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot, nil
}

func (s *Store) open(f *file) (fs.File, *Reader, error) {
	src, err := s.disk.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	info, err := src.Stat()
	if err != nil {
		src.Close()
		return nil, nil, err
	}
	return src, NewReader(src, info.Size()), nil
}
