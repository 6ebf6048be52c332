package compute

import (
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"runtime"
	"strings"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute/internal/kernel"
)

// Variable is the environment variable that names the engine of a job, as Options.Kernels does.
const Variable = "ALGOSPEC_COMPUTE"

// Options says how the processor computes.
type Options struct {
	Threads int    // that work at a time, but never more than GOMAXPROCS; 0 means GOMAXPROCS
	Kernels string // auto, avx512, avx2, blas, or go; "" means auto, the fastest of what is there
}

// CPU returns an engine on this machine's processors. It is an error where Kernels names what this
// machine does not have, or nothing at all.
func CPU(o Options) (Engine, error) {
	if o.Threads < 0 {
		return nil, fmt.Errorf("compute: %d threads", o.Threads)
	}
	sets := kernel.Sets()
	if o.Kernels == "" || o.Kernels == "auto" {
		return fastest(o.Threads), nil
	}
	if o.Kernels == "blas" {
		e, err := newBLAS(o.Threads)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	names := []string{"auto"}
	for _, s := range sets {
		if s.Name == o.Kernels {
			return newCPU(s, o.Threads), nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("%q: no engine of this machine, which has %s, and blas where OpenBLAS is installed", o.Kernels, strings.Join(names, ", "))
}

// Select returns the engine that a job asks for: the one of the name, as in Options.Kernels, or, where that is
// empty, the one that the environment variable ALGOSPEC_COMPUTE names.
func Select(name string) (Engine, error) {
	if name != "" {
		engine, err := CPU(Options{Kernels: name})
		if err != nil {
			return nil, algospec.ClientErrorf("compute: %v", err)
		}
		return engine, nil
	}
	engine, err := CPU(Options{Kernels: os.Getenv(Variable)})
	if err != nil {
		return nil, algospec.ClientErrorf("environment variable %s: %v", Variable, err)
	}
	return engine, nil
}

// Default returns the engine of this machine: Select(""), but where that is an error, which is logged, the fastest.
func Default() Engine { return defaultEngine() }

var defaultEngine = sync.OnceValue(func() Engine {
	engine, err := Select("")
	if err != nil {
		slog.Warn("compute: taking the fastest engine", "error", err)
		engine = fastest(0)
	}
	return engine
})

// fastest returns the kernels in assembly where there are any: they do in one pass what a BLAS is called for several times (docs/performance.md).
// Otherwise a BLAS is several times as fast as Go.
func fastest(threads int) *cpu {
	sets := kernel.Sets()
	if len(sets) == 1 {
		if e, err := newBLAS(threads); err == nil {
			return e
		}
	}
	return newCPU(sets[0], threads)
}

// cpu computes with the kernels of an instruction set.
type cpu struct {
	set     kernel.Set
	threads int
	team    *teams
	blas    blas // nil where the kernels multiply

	products sync.Pool // of *product
}

func newCPU(s kernel.Set, threads int) *cpu {
	e := &cpu{set: s, threads: threads, team: newTeams()}
	e.products.New = func() any { return &product{e: e} }
	return e
}

func (e *cpu) Name() string {
	threads := e.workers()
	if threads == 1 {
		return fmt.Sprintf("cpu (%s, 1 thread)", e.set.Name)
	}
	return fmt.Sprintf("cpu (%s, %d threads)", e.set.Name, threads)
}

func (e *cpu) NewLinear(c LinearConfig) Linear { return newLinear(e, c) }

// workers returns how many goroutines may compute at a time.
func (e *cpu) workers() int {
	n := runtime.GOMAXPROCS(0)
	if e.threads > 0 {
		n = min(n, e.threads)
	}
	return n
}

// shares returns into how many equal shares work is cut where each costs a pass over all rows: a power of 2, 1 for one worker.
func (e *cpu) shares() int {
	workers := e.workers()
	if workers == 1 {
		return 1
	}
	return 1 << bits.Len(uint(2*workers-1))
}

// serial is how many multiplications are worth no second goroutine: some ten microseconds.
const serial = 1 << 18

// run does the pieces of a task that multiplies as often as given.
func (e *cpu) run(t task, pieces int, multiplications float64) {
	e.runPhases(t, phases{}, pieces, multiplications)
}

// runPhases does the pieces of a task in phases.
func (e *cpu) runPhases(t task, in phases, pieces int, multiplications float64) {
	workers := 1
	if multiplications > serial {
		workers = min(e.workers(), pieces)
	}
	e.team.run(t, in, pieces, workers)
}

// check panics where the matrix is not what it says: the kernels in assembly rely on it.
func (m Matrix) check() {
	if m.S == nil {
		checkDense("x", m.X)
		return
	}
	s := m.S
	if len(s.Indptr) == 0 || len(s.Indices) != len(s.Data) {
		panic("compute: a malformed sparse matrix")
	}
	last := 0
	for _, at := range s.Indptr {
		if at < last || at > len(s.Data) {
			panic("compute: a malformed sparse matrix")
		}
		last = at
	}
	highest := uint32(0) // of a negative one, too
	for _, column := range s.Indices {
		highest = max(highest, uint32(column))
	}
	if len(s.Indices) > 0 && uint(highest) >= uint(s.Cols) {
		panic(fmt.Sprintf("compute: column %d of %d", int32(highest), s.Cols))
	}
}

func checkDense(name string, m blas32.General) {
	if m.Rows < 0 || m.Cols < 0 || m.Rows > 0 && (m.Stride < m.Cols || len(m.Data) < (m.Rows-1)*m.Stride+m.Cols) {
		panic(fmt.Sprintf("compute: %s is %d×%d with stride %d and %d values", name, m.Rows, m.Cols, m.Stride, len(m.Data)))
	}
}
