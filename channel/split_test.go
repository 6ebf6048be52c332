package channel_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

func TestSplitGivesEachRecordToOneConsumer(t *testing.T) {
	want, _ := collect(numbers(1000, nil))
	for _, n := range []int{1, 2, 7} {
		parts := make([][]string, n)
		err := channel.Split(numbers(1000, nil), n, func(i int, part iter.Seq2[[]byte, error]) (err error) {
			parts[i], err = collect(part)
			return err
		})
		require.NoError(t, err)
		require.ElementsMatch(t, want, slices.Concat(parts...))
	}
}

// All consumers have a record in hand at the same time, and it stays whole.
func TestConsumersWorkAtTheSameTime(t *testing.T) {
	const n = 5
	var have sync.WaitGroup
	have.Add(n)
	err := channel.Split(numbers(n, nil), n, func(i int, part iter.Seq2[[]byte, error]) error {
		for record, err := range part {
			if err != nil {
				return err
			}
			before := string(record)
			have.Done()
			have.Wait()
			if string(record) != before {
				return fmt.Errorf("record %s became %s", before, record)
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// While a consumer holds a record, the sequence is not read ahead: what a consumer does not ask
// for stays where it is.
func TestAConsumerThatStopsHoldsTheReadingBack(t *testing.T) {
	var read atomic.Int64
	seq := func(yield func([]byte, error) bool) {
		for record, err := range numbers(1000, nil) {
			read.Add(1)
			if !yield(record, err) {
				return
			}
		}
	}
	err := channel.Split(seq, 3, func(i int, part iter.Seq2[[]byte, error]) error {
		for _, err := range part {
			return err // leaves with the first
		}
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 3, read.Load())
}

func TestConsumersThatLeaveOrNeverComeDoNotBlockTheOthers(t *testing.T) {
	var got, taken []string
	err := channel.Split(numbers(100, nil), 3, func(i int, part iter.Seq2[[]byte, error]) (err error) {
		switch i {
		case 0:
			return nil
		case 1:
			for record, err := range part {
				taken = append(taken, string(record))
				if len(taken) == 5 || err != nil {
					return err
				}
			}
			return nil
		}
		got, err = collect(part)
		return err
	})
	require.NoError(t, err)
	want, _ := collect(numbers(100, nil))
	require.ElementsMatch(t, want, append(taken, got...))
}

func TestAnErrorReachesAllConsumers(t *testing.T) {
	bad := errors.New("bad")
	t.Run("of the sequence", func(t *testing.T) {
		got := make([]error, 4)
		err := channel.Split(numbers(10, bad), 4, func(i int, part iter.Seq2[[]byte, error]) error {
			_, got[i] = collect(part)
			return got[i]
		})
		require.ErrorIs(t, err, bad)
		for _, err := range got {
			require.EqualError(t, err, "bad", "once")
		}
	})
	t.Run("of a consumer", func(t *testing.T) {
		endless := func(yield func(int, error) bool) {
			for i := 0; yield(i, nil); i++ {
			}
		}
		err := channel.SplitFunc(endless, 4, nil, func(i int, part iter.Seq2[int, error]) error {
			for v, err := range part {
				if err != nil {
					return fmt.Errorf("consumer %d: %w", i, err)
				}
				if v == 100 {
					return bad
				}
			}
			return errors.New("the sequence has an end")
		})
		require.Equal(t, bad, err)
	})
}

func ExampleSplit() {
	records := numbers(1000, nil) // such as the All of a recordio.Reader
	counts := make([]int, 4)
	err := channel.Split(records, 4, func(worker int, part iter.Seq2[[]byte, error]) error {
		for _, err := range part {
			if err != nil {
				return err
			}
			counts[worker]++
		}
		return nil
	})
	fmt.Println(counts[0]+counts[1]+counts[2]+counts[3], "records", err)
	// Output: 1000 records <nil>
}

func TestBroadcastGivesAllBytesToEachConsumer(t *testing.T) {
	data := noise(3 << 20)
	got := make([][]byte, 5)
	err := channel.Broadcast(openEpoch(t, channel.Memory(data)), 5, func(i int, r io.Reader) (err error) {
		if i == 0 { // leaves soon
			got[i] = make([]byte, 10)
			_, err = io.ReadFull(r, got[i])
			return err
		}
		got[i], err = io.ReadAll(r)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, data[:10], got[0])
	for _, all := range got[1:] {
		require.Equal(t, len(data), len(all))
		require.Equal(t, data, all)
	}
}

// A consumer reads no further ahead of another than the blocks that are held.
func TestBroadcastWaitsForTheSlowest(t *testing.T) {
	epoch := openEpoch(t, channel.Memory(make([]byte, 10<<20)))
	ahead := make(chan int64)
	err := channel.Broadcast(epoch, 2, func(i int, r io.Reader) error {
		if i == 0 {
			n, err := io.CopyN(io.Discard, r, 1<<20)
			ahead <- n
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			return err
		}
		if n := <-ahead; n != 1<<20 || epoch.Bytes() > 1<<20 {
			return fmt.Errorf("read %d bytes ahead, and %d of the source", n, epoch.Bytes())
		}
		return nil
	})
	require.NoError(t, err)
}

func TestAnErrorReachesAllReaders(t *testing.T) {
	bad := errors.New("bad")
	t.Run("of the source", func(t *testing.T) {
		got := make([]string, 3)
		err := channel.Broadcast(openEpoch(t, failing{[]byte("before"), bad}), 3, func(i int, r io.Reader) error {
			data, err := io.ReadAll(r)
			got[i] = string(data)
			return err
		})
		require.ErrorIs(t, err, bad)
		require.Equal(t, []string{"before", "before", "before"}, got)
	})
	t.Run("of a consumer", func(t *testing.T) {
		err := channel.Broadcast(zeros{}, 3, func(i int, r io.Reader) error {
			if i == 0 {
				return bad
			}
			_, err := io.Copy(io.Discard, r)
			return err
		})
		require.Equal(t, bad, err)
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
