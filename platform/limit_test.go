package platform

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The time of attempts that were lost counts, and that between attempts does not.
func TestMaxRuntimeIsThatOfAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(Job{MaxRuntime: time.Hour}, nil, time.Now())
		why := make(chan error, 1)
		stop := func(err error) { why <- err }
		for range 3 {
			release := r.limit(stop)
			time.Sleep(19 * time.Minute)
			synctest.Wait()
			require.Empty(t, why)
			release()
			time.Sleep(2 * time.Hour)
		}
		release := r.limit(stop)
		time.Sleep(3*time.Minute - time.Nanosecond)
		synctest.Wait()
		require.Empty(t, why)
		time.Sleep(time.Nanosecond)
		require.Equal(t, errMaxRuntime, <-why)
		release()
		require.Equal(t, int64(time.Hour), r.trained.Load())
	})
}
