package platform

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/algospec/algospec"
)

// runTrainer runs the algorithm as a goroutine.
func (h *host) runTrainer(ctx context.Context) hostEnd {
	env := h.environment()
	trainerCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ended := make(chan hostEnd, 1)
	go func() {
		err := errGoexit
		defer func() {
			end := h.endNow(ctx)
			end.setTrainer(err)
			ended <- end
		}()
		err = algospec.Run(trainerCtx, h.run.job.Trainer, algospec.Options{
			BaseDir: h.tree.path(), Stdout: h.log, Getenv: func(key string) string { return env[key] },
		})
	}()
	select {
	case end := <-ended:
		return end
	case <-ctx.Done():
	}
	grace := h.graceAfter(context.Cause(ctx))
	stop(algospec.ErrStopped)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case end := <-ended:
		return end
	case <-timer.C:
		// A goroutine cannot be killed; it is left behind, and what it logs from now on is dropped.
		end := h.endNow(ctx)
		end.code, h.left = 128+int(syscall.SIGKILL), ended
		fmt.Fprintf(h.log, "platform: the trainer did not return within %v of being stopped\n", grace)
		return end
	}
}

func (end *hostEnd) setTrainer(err error) {
	end.code = algospec.ExitStatus(err)
	if err == errGoexit {
		end.failure = err.Error()
	}
}

// errGoexit is the end of a trainer that calls runtime.Goexit, as t.FailNow does in a test.
var errGoexit = errors.New("the trainer ended its goroutine")

// sweepLater removes, once a trainer that was left behind has ended, what it wrote after the tree was
// removed, such as its failure file.
func (h *host) sweepLater() {
	if h.left != nil {
		go func() {
			<-h.left
			h.run.tree.remove()
		}()
	}
}
