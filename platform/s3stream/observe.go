package s3stream

import (
	"context"
	"log/slog"
	"time"
)

// observe looks at the requests of an epoch now and then: it cuts those that
// are slow and has the pace adapt.
func (e *epoch) observe() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			e.source.pace.adapt(e.source.counts.sample(now))
			e.copyDirect()
			e.cutSlow(now)
			e.wake() // there may be more memory, and places, than before
		case <-e.ctx.Done():
			return
		}
	}
}

// maxCuts is how often a part may be asked for again for being slow.
const maxCuts = 2

func (e *epoch) cutSlow(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for b := range e.active {
		w := b.current.Load()
		if w == nil || b.cuts.Load() >= maxCuts || !e.source.pace.slow(w, now) {
			continue
		}
		w.cancel(errSlow)
	}
}

// Most that is logged is worth a warning: the stream is healed, and late.
func (b *body) log(message string, err error, attrs ...slog.Attr) {
	b.opts.Logger.LogAttrs(context.WithoutCancel(b.ctx), slog.LevelWarn, message, append([]slog.Attr{
		slog.String("bucket", b.object.Bucket), slog.String("key", b.object.Key), slog.Int64("byte", b.at),
		slog.Any("error", err),
	}, attrs...)...)
}
