package compute

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A task is work in pieces, which may be done in any order and at the same time: no two touch the
// same result, so that the results' bits do not depend on who does which.
type task interface {
	do(s *scratch, piece int)
}

// teams are the goroutines of an engine. They live as long as a call: none is left behind by an
// engine that is no longer used.
type teams struct {
	free    sync.Pool    // of *team
	scratch sync.Pool    // of *scratch
	helpers atomic.Int64 // goroutines that help at this moment, of all calls
}

func newTeams() *teams {
	t := new(teams)
	t.free.New = func() any {
		m := &team{all: t}
		m.help = m.helper
		return m
	}
	t.scratch.New = func() any { return new(scratch) }
	return t
}

// phases is work that alternates: so many pieces of one kind, then so many of another, which begin when those before
// are done, and so on. Piece by piece, as a task.
type phases struct{ first, second int }

// begin returns the piece that the phase of a piece begins with.
func (p phases) begin(piece int) int {
	within := piece % (p.first + p.second)
	if within < p.first {
		return piece - within
	}
	return piece - within + p.first
}

// A team does one task. The caller is one of it.
type team struct {
	all    *teams
	task   task
	phases phases // without pieces where the task has none
	pieces int64
	next   atomic.Int64
	ended  atomic.Int64 // pieces
	done   sync.WaitGroup
	help   func() // helper, as a value that is made once
}

// run does all pieces of a task with the given number of workers, or fewer where other calls have
// helpers: together they never have more than processors.
func (t *teams) run(job task, in phases, pieces, workers int) {
	m := t.free.Get().(*team)
	m.task, m.phases, m.pieces = job, in, int64(pieces)
	m.next.Store(0)
	m.ended.Store(0)
	for range workers - 1 {
		if t.helpers.Add(1) >= int64(runtime.GOMAXPROCS(0)) {
			t.helpers.Add(-1)
			break
		}
		m.done.Add(1)
		go m.help()
	}
	m.work()
	m.done.Wait()
	m.task = nil
	t.free.Put(m)
}

func (m *team) helper() {
	m.work()
	m.all.helpers.Add(-1)
	m.done.Done()
}

func (m *team) work() {
	s := m.all.scratch.Get().(*scratch)
	for i := m.next.Add(1) - 1; i < m.pieces; i = m.next.Add(1) - 1 {
		if m.phases != (phases{}) {
			m.await(int64(m.phases.begin(int(i))))
		}
		m.task.do(s, int(i))
		m.ended.Add(1)
	}
	m.all.scratch.Put(s)
}

// await waits until so many pieces are done: as pieces are taken in order, all before that one. Others do the last of
// them now, which takes no longer than a piece, unless they have no processor.
func (m *team) await(pieces int64) {
	const awake = 1000 // turns, some 100 µs
	for turn := 0; m.ended.Load() < pieces; turn++ {
		if turn < awake {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// scratch is the memory of a worker, kept from call to call. What is in it is anything.
type scratch struct {
	narrow, rows, scores []float32
	wide                 []float64
}

// aligned returns a slice of n elements that begins at a cache line, in memory's if it is large enough.
func aligned[T float32 | float64](memory *[]T, n int) []T {
	if cap(*memory) >= n {
		return (*memory)[:n]
	}
	const line = 64
	var zero T
	size := int(unsafe.Sizeof(zero))
	grown := make([]T, n+line/size)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(grown)))%line) / size
	*memory = grown[skip:][:n:n]
	return *memory
}

// zeroed returns n zeros, aligned.
func zeroed[T float32 | float64](n int) []T {
	var memory []T
	return aligned(&memory, n)
}

// up returns n rounded up to a multiple of m.
func up(n, m int) int { return (n + m - 1) / m * m }
