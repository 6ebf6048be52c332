package leaks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestAGoroutineThatEndsLateIsNoLeak(t *testing.T) {
	others := goleak.IgnoreCurrent()
	go func() { time.Sleep(time.Second) }() // goleak alone gives up before
	require.NoError(t, Find(others))
}

func TestAGoroutineThatIsLeftIsShown(t *testing.T) {
	others := goleak.IgnoreCurrent()
	stay := make(chan struct{})
	defer close(stay)
	go func() { <-stay }()
	require.ErrorContains(t, find(0, others), "TestAGoroutineThatIsLeftIsShown")
}
