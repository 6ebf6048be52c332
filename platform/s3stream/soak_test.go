package s3stream_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/algospec/algospec/internal/faultproxy"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
)

const (
	soakRequests = 1000            // of each seed
	soakHang     = 5 * time.Minute // no stream takes as long
	soakIdle     = 2 * time.Second // no request waits as long for a byte, if nothing is wrong
)

// Objects are streamed through a proxy that has requests fail at random. ALGOSPEC_SOAK is the number
// of seeds, 0 to ALGOSPEC_SOAK-1: 3 without it, 50 on CI. ALGOSPEC_SOAK_SEED is a single one, to see
// a failure again.
func TestStreamsAreWholeOrNameTheObjectWhateverFails(t *testing.T) {
	sum := tally{faults: map[faultproxy.Fault]int{}}
	first, end := soakSeeds(t)
	for seed := first; seed < end; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			started := time.Now()
			one := soakSeed(t, seed)
			t.Logf("%v, in %.1f s", one, time.Since(started).Seconds())
			sum.add(one)
		})
	}
	t.Logf("%v, after %v", &sum, sum.faults)
	if end-first >= 20 && testenv.S3(t) == "" {
		require.Len(t, sum.faults, len(faultproxy.All()), "not every fault happened")
	}
}

func soakSeeds(t *testing.T) (first, end uint64) {
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, name)
		return n
	}
	const none = 1<<64 - 1
	if seed := number("ALGOSPEC_SOAK_SEED", none); seed != none {
		return seed, seed + 1
	}
	return 0, number("ALGOSPEC_SOAK", 3)
}

// soakSeed runs one seed and sees to it that nothing of it is left.
func soakSeed(t *testing.T, seed uint64) *tally {
	bucket := newBucket(t)
	bucket.idle()
	goroutines, descriptors := goleak.IgnoreCurrent(), countDescriptors()

	s := newSoak(t, bucket, seed)
	defer s.explainFailure(t)
	for s.proxy.Requests() < soakRequests {
		require.NoError(t, s.epochs(t.Context()))
		require.Less(t, s.number, soakRequests, "requests do not pass through the proxy")
	}
	require.True(t, !s.heals || s.whole.Load() > 0, "no stream came to its end")
	s.close()

	require.NoError(t, leaks.Find(goroutines))
	require.Eventually(t, func() bool { return countDescriptors() <= descriptors }, time.Minute, 5*time.Millisecond,
		"more than the %d descriptors of before", descriptors)
	return &s.tally
}

// countDescriptors returns the open ones, or 0 where there is no procfs.
func countDescriptors() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
