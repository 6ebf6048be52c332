package s3stream

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestP9ShuffleIsTheSameOnAllHostsAndDiffersByEpoch(t *testing.T) {
	const n = 100
	shuffle := Shuffle{Seed: 7, Channel: "train"}
	for epoch := range 5 {
		require.Equal(t, shuffle.Order(n, epoch), Shuffle{Seed: 7, Channel: "train"}.Order(n, epoch), "on another host")
	}
	seen := map[string]string{}
	for _, seed := range []int64{0, 1, 7, -1, 1 << 62} {
		for _, channel := range []string{"", "train", "trai", "test"} {
			for epoch := range 4 {
				name := fmt.Sprint(seed, channel, epoch)
				order := fmt.Sprint(Shuffle{Seed: seed, Channel: channel}.Order(n, epoch))
				require.NotContains(t, seen, order, "%s and %s", name, seen[order])
				seen[order] = name
			}
		}
	}
}

func TestP9ShuffleIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shuffle := Shuffle{Seed: rapid.Int64().Draw(t, "seed"), Channel: rapid.String().Draw(t, "channel")}
		n := rapid.IntRange(0, 300).Draw(t, "units")
		order := shuffle.Order(n, rapid.IntRange(0, 1<<40).Draw(t, "epoch"))
		slices.Sort(order)
		for i, unit := range order {
			require.Equal(t, i, unit)
		}
		require.Len(t, order, n)
	})
	require.Empty(t, Shuffle{}.Order(0, 0))
	require.Equal(t, []int{0}, Shuffle{}.Order(1, 0))
}

// The generator as the documentation of Shuffle has it, written down again.
func TestP9ShuffleIsTheDocumentedGenerator(t *testing.T) {
	for _, c := range []struct {
		seed     int64
		channel  string
		epoch, n int
	}{{0, "", 0, 10}, {42, "train", 0, 20}, {42, "train", 1, 20}, {-3, "validation", 300, 1000}} {
		hash := fnv.New64a()
		io.WriteString(hash, c.channel+"\x00")
		for shift := 56; shift >= 0; shift -= 8 {
			hash.Write([]byte{byte(uint64(c.epoch) >> shift)})
		}
		generator := rand.NewPCG(uint64(c.seed), hash.Sum64())
		want := make([]int, c.n)
		for i := range want {
			want[i] = i
		}
		for i := c.n - 1; i >= 1; i-- {
			j, _ := bits.Mul64(generator.Uint64(), uint64(i+1))
			want[i], want[j] = want[j], want[i]
		}
		require.Equal(t, want, Shuffle{c.seed, c.channel}.Order(c.n, c.epoch))
	}
	// Orders that must not change from one version to the next: jobs are repeated.
	require.Equal(t, []int{8, 4, 0, 6, 2, 3, 5, 7, 9, 1}, Shuffle{42, "train"}.Order(10, 0))
	require.Equal(t, []int{2, 8, 5, 6, 9, 0, 4, 3, 1, 7}, Shuffle{42, "train"}.Order(10, 1))
}

// Each order of 4 units comes about as often as any other.
func TestP9ShuffleIsFair(t *testing.T) {
	const epochs, orders = 24_000, 24
	count := map[string]int{}
	for epoch := range epochs {
		count[fmt.Sprint(Shuffle{Seed: 1, Channel: "train"}.Order(4, epoch))]++
	}
	require.Len(t, count, orders)
	chi2 := 0.0
	for _, n := range count {
		d := float64(n - epochs/orders)
		chi2 += d * d / (epochs / orders)
	}
	require.Less(t, chi2, 49.7, "0.1 %% of fair shuffles have a higher chi-squared of 23 degrees of freedom")
}

func TestP9ReshardingCoversEveryObjectOncePerEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "objects")
		hosts := rapid.IntRange(1, 7).Draw(t, "hosts")
		contiguous := rapid.Bool().Draw(t, "contiguous")
		shuffle := &Shuffle{Seed: rapid.Int64().Draw(t, "seed"), Channel: "train"}
		for epoch := range 3 {
			var all []int
			for host := range hosts {
				opts := Options{Shuffle: shuffle, Shard: Shard{Index: host, Count: hosts, Contiguous: contiguous}}
				mine := slices.Collect(NewSource(nil, make(Objects, n), opts).units(epoch))
				require.InDelta(t, n/hosts, len(mine), 1)
				all = append(all, mine...)
			}
			slices.Sort(all)
			require.Len(t, all, n)
			require.Len(t, slices.Compact(all), n)
		}
	})
}

func TestP9ObjectsMoveBetweenHostsFromEpochToEpoch(t *testing.T) {
	server := startServer(t)
	for i := range 20 {
		put(t, server, fmt.Sprintf("part-%02d", i), fmt.Appendf(nil, "%02d ", i))
	}
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	hostOf := map[string][]int{}
	for _, shuffle := range []*Shuffle{{Seed: 3, Channel: "train"}, nil} {
		clear(hostOf)
		for host := range 2 {
			opts := small
			opts.Shard, opts.Shuffle = Shard{Index: host, Count: 2}, shuffle
			source := NewSource(server.Client(), objects, opts)
			for epoch := range 3 {
				stream, err := source.Open(t.Context(), epoch)
				require.NoError(t, err)
				got, err := io.ReadAll(stream)
				require.NoError(t, err)
				require.NoError(t, stream.Close())
				names := strings.Fields(string(got))
				require.Len(t, names, 10)
				if shuffle != nil {
					require.False(t, slices.IsSorted(names), "%v", names)
				}
				for _, name := range names {
					hostOf[name] = append(hostOf[name], host)
				}
			}
		}
		moved := 0
		for name, hosts := range hostOf {
			require.Len(t, hosts, 3, name)
			if len(slices.Compact(hosts)) > 1 {
				moved++
			}
		}
		require.Len(t, hostOf, 20)
		if shuffle == nil {
			require.Zero(t, moved)
		} else {
			require.Positive(t, moved)
		}
	}
}

func TestP9ShuffledEpochIsTheSameEachTimeItIsOpened(t *testing.T) {
	client := &ram{objects: map[string][]byte{}}
	var keys []string
	for i := range 30 {
		keys = append(keys, fmt.Sprintf("%02d", i))
		client.objects[keys[i]] = []byte(keys[i] + " ")
	}
	opts := small
	opts.Shuffle = &Shuffle{Seed: 1, Channel: "train"}
	read := func(epoch int) string {
		stream, err := NewSource(client, client.list(client.sized, keys...), opts).Open(t.Context(), epoch)
		require.NoError(t, err)
		defer stream.Close()
		got, err := io.ReadAll(stream)
		require.NoError(t, err)
		return string(got)
	}
	first, second := read(0), read(1)
	require.NotEqual(t, first, second)
	require.Equal(t, first, read(0))
	var want strings.Builder
	for _, i := range opts.Shuffle.Order(30, 1) {
		want.WriteString(keys[i] + " ")
	}
	require.Equal(t, want.String(), second)
}
