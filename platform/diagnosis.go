package platform

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// diagnose finds what keeps data from flowing once the reader of an epoch out of turn has waited for
// as long as p.stall; "" where nothing does. It sees opens only: a reader that looks for a pipe that
// is not there, because it never opened the one before it, leaves no trace.
func (p *pipe) diagnose() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = ""
	if p.current == nil || p.next == nil || !p.next.opening.happened() || time.Since(p.next.opening.at) < p.stall {
		return ""
	}
	about := ""
	switch {
	case !p.current.opening.happened():
		about = "never was"
	case p.clock.in(blocked) >= p.stall:
		about = "is neither read nor closed"
	default:
		return ""
	}
	p.problem = fmt.Sprintf("channel %s: epoch %d was opened but epoch %d %s: no data flow until it is (container contract 2.2)",
		p.name, p.epoch+1, p.epoch, about)
	return p.problem
}

// diagnose looks at the pipes again and again until ctx is done, and logs each problem once.
func (a *attempt) diagnose(ctx context.Context, stall time.Duration, logger *slog.Logger) {
	pipes := a.pipes()
	ticker := time.NewTicker(max(time.Millisecond, stall/4))
	defer ticker.Stop()
	logged := make([]string, len(pipes))
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for i, p := range pipes {
			if problem := p.diagnose(); problem != "" && problem != logged[i] {
				logged[i] = problem
				logger.WarnContext(ctx, problem)
			}
		}
	}
}

func (j *Job) stall() time.Duration {
	if j.Stall == 0 {
		return 30 * time.Second
	}
	return j.Stall
}

func (j *Job) logger() *slog.Logger {
	if j.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return j.Logger
}
