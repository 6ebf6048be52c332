// Recordio compares readers of RecordIO-protobuf on the same file in the same run: ours, Google's C++
// protobuf on an arena, and the SageMaker Python SDK's. Each has the file in memory and copies every
// row to a batch. All take their turn in each round, with three passes over the file of which the
// median counts, and ratios are of medians.
//
// It needs g++ and libprotobuf-dev for the one and ALGOSPEC_PYTHON, a Python with the SDK, for the
// other; see the script run beside it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/algospec/algospec/recordio"
)

func main() {
	arena := flag.String("arena", "", "the C++ `program`; without it that peer is left out")
	python := flag.String("python", os.Getenv("ALGOSPEC_PYTHON"), "the Python `interpreter`; without it that peer is left out")
	script := flag.String("script", "recordio/peers/sdk.py", "the Python `script`")
	size := flag.Int("bytes", 16<<20, "size of the file")
	rounds := flag.Int("rounds", 5, "rounds")
	flag.Parse()
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "bench-recordio-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fmt.Println("| features | reader | MB/s, median (min to max) | ours is faster by |")
	fmt.Println("|---|---|---|---|")
	for _, columns := range []int{50, 784} {
		data := rows(columns, *size)
		path := filepath.Join(dir, fmt.Sprint(columns))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			log.Fatal(err)
		}
		compare(data, path, columns, *rounds, *arena, *python, *script)
	}
}

func rows(columns, size int) []byte {
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	row := make([]float32, columns)
	for i := 0; b.Len() < size; i++ {
		for j := range row {
			row[j] = float32(i*j) / 7
		}
		if err := w.WriteRow(row, float32(i%2)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}

func compare(data []byte, path string, columns, rounds int, arena, python, script string) {
	var memcpy, ours, theirs, sdk []float64
	dst := make([]byte, len(data))
	for range rounds {
		memcpy = append(memcpy, seconds(func() { copy(dst, data) }))
		ours = append(ours, seconds(func() { read(data, columns) }))
		if arena != "" {
			theirs = append(theirs, peer(arena, path, fmt.Sprint(columns), fmt.Sprint(passes)))
		}
		if python != "" {
			sdk = append(sdk, peer(python, script, path, fmt.Sprint(columns), fmt.Sprint(passes)))
		}
	}
	for _, reader := range []struct {
		name    string
		seconds []float64
	}{
		{"memcpy", memcpy}, {"algospec, Go", ours}, {"protobuf on an arena, C++", theirs}, {"SageMaker Python SDK", sdk},
	} {
		if len(reader.seconds) == 0 {
			continue
		}
		slices.Sort(reader.seconds)
		rate := func(s float64) float64 { return float64(len(data)) / s / 1e6 }
		fmt.Printf("| %d | %s | %.0f (%.0f to %.0f) | %.2f |\n", columns, reader.name, rate(median(reader.seconds)),
			rate(slices.Max(reader.seconds)), rate(slices.Min(reader.seconds)), median(reader.seconds)/median(ours))
	}
}

func median(sorted []float64) float64 {
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// passes is how often each reader goes over the file in its turn; the median counts.
const passes = 3

func seconds(f func()) float64 {
	var all []float64
	for range passes {
		began := time.Now()
		f()
		all = append(all, time.Since(began).Seconds())
	}
	return median(all)
}

func read(data []byte, columns int) {
	batch := make([]float32, 1000*columns)
	var decoder recordio.RowDecoder
	row := 0
	for payload, err := range recordio.NewBytesReader(data).All() {
		if err == nil {
			_, err = decoder.Decode(payload, batch[row%1000*columns:][:columns])
		}
		if err != nil {
			log.Fatal(err)
		}
		row++
	}
}

// peer runs a program that times itself, and returns its median.
func peer(name string, args ...string) float64 {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SAGEMAKER_SUPPRESS_V2_WARNING=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatal(name, ": ", err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var size int
	var low, middle float64
	if _, err := fmt.Sscanf(string(lines[len(lines)-1]), "%d bytes %f min %f median", &size, &low, &middle); err != nil {
		log.Fatalf("%s: %q: %v", name, out, err)
	}
	return middle
}
