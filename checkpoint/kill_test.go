package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childDir names the directory to a process that restores, and saves until it is killed.
const childDir = "CHECKPOINT_TEST_DIR"

// bigState is the state at a step that takes a while to write.
func bigState(step int64) text {
	line := fmt.Appendf(nil, "state of step %d\n", step)
	return text(bytes.Repeat(line, 200_000/len(line)+int(step%50)))
}

// begun is what the process says first. A machine that is busy takes its time to come so far.
const begun = 0

func child(dir string) {
	ctx := context.Background()
	fmt.Println(begun)
	store := NewStore(dir, Options{})
	var state bytes.Buffer
	from, err := store.Restore(ctx, &state)
	for step := from.Step + 1; err == nil || step == 1; step++ {
		if err = store.Save(ctx, Snapshot{Step: step}, bigState(step)); err == nil {
			fmt.Println(step) // reported
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestWhatWasReportedSavedSurvivesKill9(t *testing.T) {
	seed, rounds := rand.Uint64(), 200
	if testing.Short() {
		rounds = 20
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var reported int64
	halves := 0
	for round := range rounds {
		after := time.Duration(random.Int64N(int64(40 * time.Millisecond)))
		from := begun
		if round%4 == 3 {
			from++ // amid saving, so that it comes to something
		}
		last := runAndKill(t, dir, from, after)
		reported = max(reported, last)
		store := NewStore(dir, Options{})
		var state bytes.Buffer
		snapshot, err := store.Restore(t.Context(), &state)
		if reported == 0 && err == ErrNone {
			continue
		}
		require.NoError(t, err, "round %d, killed after %v", round, after)
		require.GreaterOrEqual(t, snapshot.Step, reported, "round %d, killed after %v", round, after)
		require.True(t, string(bigState(snapshot.Step)) == state.String())
		reported = snapshot.Step
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, entry := range entries {
			if unfinished(entry.Name(), "algo-1") {
				halves++
			}
		}
		require.LessOrEqual(t, len(entries), 3+3+1+1, "3 snapshots, those that a kill has kept from being pruned, an unfinished one, the lock")
	}
	t.Logf("%d steps were saved; %d times a file was unfinished", reported, halves)
	require.Greater(t, reported, int64(rounds/20), "the process came to something")
}

// runAndKill runs the child for a time after it has said so many words and one more, and returns the last step reported.
func runAndKill(t *testing.T, dir string, words int, after time.Duration) (last int64) {
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), childDir+"="+dir)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); words-- {
		if words == 0 {
			timer := time.AfterFunc(after, func() { process.Process.Kill() })
			defer timer.Stop()
		}
		step, err := strconv.ParseInt(lines.Text(), 10, 64)
		require.NoError(t, err, lines.Text())
		last = step
	}
	require.ErrorContains(t, process.Wait(), "killed")
	return last
}
