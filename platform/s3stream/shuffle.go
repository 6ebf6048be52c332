package s3stream

import (
	"encoding/binary"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// A Shuffle mixes the units of a list anew for each epoch (ShuffleConfig):
// objects, or the lines of an augmented manifest. The order depends on the
// seed, the channel's name, the epoch and the number of units, and on nothing
// else, so that all hosts find the same one. Sharding comes after it: with
// ShardedByS3Key a unit may go to another host in the next epoch.
//
// The service's generator is not published. This one is PCG-DXSM, as of
// math/rand/v2, whose 128-bit state begins as Seed and, below it, the FNV-1a
// hash of the channel's name, a zero byte and the epoch in 8 bytes, most
// significant first. Fisher and Yates' shuffle runs from the last unit i down
// to 1 and exchanges it with unit x(i+1) >> 64 for the next output x.
type Shuffle struct {
	Seed    int64
	Channel string
}

// Order returns the units in the order of an epoch: those 0 to n-1, mixed.
func (s Shuffle) Order(n, epoch int) []int {
	hash := fnv.New64a()
	hash.Write(append([]byte(s.Channel), 0))
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(epoch)))
	generator := rand.NewPCG(uint64(s.Seed), hash.Sum64())
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(generator.Uint64(), uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}
