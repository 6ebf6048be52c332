package container

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThreeHostsFindEachOtherByName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, isolated := range []bool{false, true} {
			network := w.network(t, isolated)
			hosts := []*Container{}
			transcripts := []*transcript{}
			for n := 1; n <= 3; n++ {
				alias := fmt.Sprintf("algo-%d", n)
				c, said := w.start(t, Spec{Network: network, Alias: alias, Hostname: "host-" + alias, Arguments: []string{"peers=3"}})
				hosts, transcripts = append(hosts, c), append(transcripts, said)
			}
			for i, c := range hosts {
				require.Equal(t, End{}, wait(t, c), transcripts[i].String())
				for n := 1; n <= 3; n++ {
					require.Contains(t, transcripts[i].String(), fmt.Sprintf("algo-%d is host-algo-%d\n", n, n))
				}
			}
		}
	})
}

// Container contract, 7.2.
func TestANameDoesNotResolveBeforeItsHostIsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		network := w.network(t, false)
		first, said := w.start(t, Spec{Network: network, Alias: "algo-1", Arguments: []string{"resolve=algo-1", "lookup=algo-2", "dial=algo-2"}})
		said.await(t, "algo-2 ")
		require.Equal(t, "algo-1 true\nalgo-2 false\n", said.String())
		w.start(t, Spec{Network: network, Alias: "algo-2", Hostname: "second", Arguments: []string{"serve=1"}})
		require.Equal(t, End{}, wait(t, first))
		require.Contains(t, said.String(), "algo-2 is second\n")
	})
}

func TestTwoJobsHaveHostsOfTheSameNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		type job struct {
			server, client *Container
			said           *transcript
		}
		var jobs [2]job
		for i := range jobs {
			network := w.network(t, false)
			jobs[i].server, _ = w.start(t, Spec{Network: network, Alias: "algo-1", Hostname: fmt.Sprint("job-", i), Arguments: []string{"serve=1"}})
			jobs[i].client, jobs[i].said = w.start(t, Spec{Network: network, Alias: "algo-2", Arguments: []string{"dial=algo-1"}})
		}
		for i, job := range jobs {
			require.Equal(t, End{}, wait(t, job.client))
			require.Equal(t, End{}, wait(t, job.server))
			require.Equal(t, fmt.Sprintf("algo-1 is job-%d\n", i), job.said.String())
		}
	})
}

func TestAnIsolatedNetworkHasNoWayOut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, open := w.run(t, Spec{Network: w.network(t, false), Arguments: []string{"routes="}})
		_, isolated := w.run(t, Spec{Network: w.network(t, true), Arguments: []string{"routes="}})
		_, none := w.run(t, Spec{Arguments: []string{"routes="}})
		require.Contains(t, strings.Fields(open), "00000000", "a default route")
		require.NotEmpty(t, isolated)
		require.NotContains(t, strings.Fields(isolated), "00000000")
		require.Empty(t, none)
	})
}

func TestANetworkInUseIsNotRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		name := w.name()
		n, err := w.Network(t.Context(), NetworkSpec{Name: name, Labels: w.labels()})
		require.NoError(t, err)
		c, said := w.start(t, Spec{Network: name, Arguments: []string{"catch=0"}})
		said.await(t, "ready")
		require.ErrorContains(t, n.Remove(t.Context()), "network "+name+": ")
		require.NoError(t, c.Signal(t.Context(), syscall.SIGTERM))
		wait(t, c)
		require.NoError(t, c.Remove(t.Context()))
		require.NoError(t, n.Remove(t.Context()))
		require.NoError(t, n.Remove(t.Context()), "again")
	})
}

func TestANetworkOfThatNameIsAnErrorAndStays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		name := w.network(t, false)
		_, err := w.Network(t.Context(), NetworkSpec{Name: name})
		require.ErrorContains(t, err, "network "+name+": ")
		require.ErrorContains(t, err, "exists")
		require.Contains(t, w.left(t), name)
		_, err = w.Network(t.Context(), NetworkSpec{Name: "--driver"})
		require.ErrorContains(t, err, "want 1 to 128 letters")
	})
}
