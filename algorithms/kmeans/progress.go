package kmeans

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/algospec/algospec/algorithms"
)

// progressVersion is of the form in which a progress is written: numbers of 8 bytes in little endian, the head's
// first, then the centers and the counts.
const progressVersion = 1

// A progress is all that a training has learned, for a snapshot.
type progress struct {
	State                    // K is 0 until the centers are drawn
	seed   int64             // of the random choices to come
	epoch  int               // the one at work
	rounds int64             // of this epoch
	pass   algorithms.Pass   // this host's part of this epoch
	counts algorithms.Counts // this host's part of the epochs before
}

func (p *progress) head() []float64 {
	return []float64{
		progressVersion, float64(p.K), float64(p.D), float64(p.seed), float64(p.epoch), float64(p.rounds),
		float64(p.pass.Records), float64(p.pass.Batches), float64(p.pass.Bytes),
		float64(p.counts.Records), float64(p.counts.Batches), float64(p.counts.MaxRecords), float64(p.counts.MaxBatches), float64(p.counts.Passes),
	}
}

// WriteTo writes the progress.
func (p *progress) WriteTo(w io.Writer) (n int64, err error) {
	for _, numbers := range [][]float64{p.head(), p.Centers, p.Counts} {
		written, err := writeNumbers(w, numbers)
		n += written
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// ReadFrom replaces the progress by what WriteTo has written.
func (p *progress) ReadFrom(r io.Reader) (n int64, err error) {
	head := p.head()
	n, err = readNumbers(r, head)
	if err != nil {
		return n, err
	}
	if head[0] != progressVersion {
		return n, fmt.Errorf("kmeans: state of version %v, and this program reads version %d", head[0], progressVersion)
	}
	for _, x := range head {
		if !(x >= 0 && x <= 1<<53 && x == math.Trunc(x)) || math.Signbit(x) {
			return n, fmt.Errorf("kmeans: %v in the head of a state", x)
		}
	}
	if head[1]*head[2] > maxNumbers || head[1] > maxNumbers || head[2] > maxNumbers || head[4] > math.MaxInt32 {
		return n, fmt.Errorf("kmeans: %v centers of %v features in epoch %v are no state", head[1], head[2], head[4])
	}
	read := progress{
		seed: int64(head[3]), epoch: int(head[4]), rounds: int64(head[5]),
		pass:   algorithms.Pass{Records: int64(head[6]), Batches: int64(head[7]), Bytes: int64(head[8])},
		counts: algorithms.Counts{Records: int64(head[9]), Batches: int64(head[10]), MaxRecords: int64(head[11]), MaxBatches: int64(head[12]), Passes: int64(head[13])},
	}
	read.K, read.D = int(head[1]), int(head[2])
	for _, part := range []struct {
		numbers *[]float64
		length  int
	}{{&read.Centers, read.K * read.D}, {&read.Counts, read.K}} {
		var more int64
		*part.numbers, more, err = appendNumbers(r, part.length)
		n += more
		if err != nil {
			return n, err
		}
	}
	if err := read.check(); err != nil {
		return n, err
	}
	*p = read
	return n, nil
}

// chunk is how many numbers are written or read at a time.
const chunk = 1 << 13

func writeNumbers(w io.Writer, numbers []float64) (n int64, err error) {
	var bytes [8 * chunk]byte
	for len(numbers) > 0 {
		part := numbers[:min(chunk, len(numbers))]
		for i, x := range part {
			binary.LittleEndian.PutUint64(bytes[8*i:], math.Float64bits(x))
		}
		written, err := w.Write(bytes[:8*len(part)])
		n += int64(written)
		if err != nil {
			return n, err
		}
		numbers = numbers[len(part):]
	}
	return n, nil
}

func readNumbers(r io.Reader, numbers []float64) (n int64, err error) {
	var bytes [8 * chunk]byte
	for len(numbers) > 0 {
		part := numbers[:min(chunk, len(numbers))]
		read, err := io.ReadFull(r, bytes[:8*len(part)])
		n += int64(read)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return n, err
		}
		for i := range part {
			part[i] = math.Float64frombits(binary.LittleEndian.Uint64(bytes[8*i:]))
		}
		numbers = numbers[len(part):]
	}
	return n, nil
}

// appendNumbers reads so many numbers, in memory that grows with what there is to read.
func appendNumbers(r io.Reader, length int) (numbers []float64, n int64, err error) {
	for len(numbers) < length {
		begin := len(numbers)
		grown := make([]float64, min(length, max(chunk, 2*begin)))
		copy(grown, numbers)
		numbers = grown
		read, err := readNumbers(r, numbers[begin:])
		n += read
		if err != nil {
			return nil, n, err
		}
	}
	return numbers, n, nil
}
