package checkpoints

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/platform/s3test"
)

// A trainer is a host with a store in its directory.
type trainer struct {
	*host
	store *checkpoint.Store
}

func newTrainer(t *testing.T, client Client, opts checkpoint.Options) *trainer {
	h := newHost(t, client, t.TempDir(), Options{})
	s := checkpoint.NewStore(h.dir, opts)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &trainer{h, s}
}

// save saves a snapshot, long ago, so that nothing waits for it to be quiet.
func (tr *trainer) save(step int64) {
	tr.t.Helper()
	require.NoError(tr.t, tr.store.Save(tr.t.Context(), checkpoint.Snapshot{Step: step}, stateAt(step)))
	saved, err := filepath.Glob(tr.path(fmt.Sprintf("step-%012d.*.ckpt", step)))
	require.NoError(tr.t, err)
	require.Len(tr.t, saved, 1)
	tr.age(filepath.Base(saved[0]))
}

func stateAt(step int64) io.WriterTo {
	return strings.NewReader(strings.Repeat(fmt.Sprintf("%d;", step), 1000))
}

// steps returns the steps that there are snapshots of.
func (tr *trainer) steps() (steps []int64) { return stepsOf(keys(tr.files())) }

func stepsOf(names []string) (steps []int64) {
	for _, name := range names {
		if name, ok := checkpoint.ParseName(name); ok {
			steps = append(steps, name.Step)
		}
	}
	return steps
}

// requireWhole checks each object that there is, and returns their names.
func requireWhole(t requirer, client Client) (names []string) {
	t.Helper()
	found := objects(t, client)
	for name, body := range found {
		_, err := io.Copy(io.Discard, checkpoint.NewReader(strings.NewReader(body), int64(len(body))))
		require.NoError(t, err, name)
	}
	return keys(found)
}

func TestAStoreDeletesNothingThatS3Needs(t *testing.T) {
	client := &meddler{Client: startServer(t).Client(), before: func(string) {}}
	tr := newTrainer(t, client, checkpoint.Options{Keep: 1})
	tr.save(1)
	var once sync.Once
	client.before = func(string) {
		once.Do(func() {
			tr.save(2)
			tr.save(3)
			require.Equal(t, []int64{1, 3}, tr.steps(), "1 is being uploaded")
		})
	}
	tr.look()
	require.Equal(t, []int64{1}, stepsOf(requireWhole(t, client)))
	tr.save(4)
	require.Equal(t, []int64{1, 4}, tr.steps(), "4 is not in S3 yet")
	tr.look()
	require.Equal(t, []int64{1, 4}, stepsOf(requireWhole(t, client)))
	tr.save(5)
	require.Equal(t, []int64{4, 5}, tr.steps())
	tr.look()
	require.Equal(t, []int64{4, 5}, stepsOf(requireWhole(t, client)))
	tr.final()
}

// The instance may be lost at any moment, with S3 failing now and then: what S3 holds is whole, and a new
// instance restores from it what was stored last, or newer.
func TestAnInstanceLostAtAnyMomentCostsNothingThatWasUploaded(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	server := startServer(t)
	client := server.Client(impatient)
	var step, stored int64
	for range 15 {
		server.SetFault(nil)
		tr := newTrainer(t, client, checkpoint.Options{Keep: 1 + random.IntN(2)})
		var state bytes.Buffer
		from, err := tr.store.Restore(t.Context(), &state)
		if stored == 0 && errors.Is(err, checkpoint.ErrNone) {
			err = nil
		} else {
			require.Equal(t, strings.Repeat(fmt.Sprintf("%d;", from.Step), 1000), state.String())
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, from.Step, stored)
		step = from.Step
		for range random.IntN(12) {
			server.SetFault(nil)
			if random.IntN(4) == 0 {
				count(server, func(string, string) *s3test.Fault { return &s3test.Fault{Status: 500, Code: "InternalError"} })
			}
			if random.IntN(2) == 0 {
				step++
				tr.save(step)
			} else {
				tr.look()
			}
			server.SetFault(nil)
			for _, there := range stepsOf(requireWhole(t, client)) {
				stored = max(stored, there)
			}
		}
		require.NoError(t, tr.store.Close())
		require.NoError(t, os.RemoveAll(tr.dir)) // lost
	}
	require.Positive(t, stored)
}

// Two hosts with a directory each and one prefix are lost; two new ones, each with the files of both, go on
// from the last step that both had in S3.
func TestHostsThatAreReplacedGoOnTogether(t *testing.T) {
	server := startServer(t)
	start := func() (hosts []*trainer) {
		for rank, c := range cluster.Loopback(2) {
			opts := checkpoint.Options{Host: fmt.Sprint("algo-", rank+1), Cluster: &c}
			hosts = append(hosts, newTrainer(t, server.Client(), opts))
		}
		return hosts
	}
	restore := func(hosts []*trainer) (steps []int64, err error) {
		steps = make([]int64, len(hosts))
		errs := make([]error, len(hosts))
		var all sync.WaitGroup
		for rank, tr := range hosts {
			all.Go(func() {
				snapshot, err := tr.store.Restore(t.Context(), &bytes.Buffer{})
				steps[rank], errs[rank] = snapshot.Step, err
			})
		}
		all.Wait()
		return steps, errors.Join(errs...)
	}
	hosts := start()
	_, err := restore(hosts)
	require.ErrorIs(t, err, checkpoint.ErrNone)
	for _, tr := range hosts {
		tr.save(10)
		tr.save(20)
		tr.look()
	}
	hosts[0].save(30)
	hosts[0].look()
	hosts[1].save(30) // and is lost before it is uploaded

	hosts = start()
	require.Equal(t, []int64{10, 10, 20, 20, 30}, hosts[0].steps())
	require.Equal(t, hosts[0].steps(), hosts[1].steps())
	steps, err := restore(hosts)
	require.NoError(t, err)
	require.Equal(t, []int64{20, 20}, steps)
}
