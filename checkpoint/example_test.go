package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/algospec/algospec/checkpoint"
)

// A run of 10 steps is stopped after 6. The next one goes on from there.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, stop := range []int64{6, 10} {
		if err := train(context.Background(), dir, stop); err != nil {
			panic(err)
		}
	}
	// Output:
	// begin at step 1
	// stopped after step 6
	// go on after step 6 with "abcdef", 60 records read
	// stopped after step 10
}

func train(ctx context.Context, dir string, stop int64) error {
	store := checkpoint.NewStore(dir, checkpoint.Options{HyperParameters: map[string]string{"k": "10"}})
	defer store.Close()
	var model bytes.Buffer // anything that writes itself to an io.Writer and reads itself from an io.Reader
	from, err := store.Restore(ctx, &model)
	switch {
	case errors.Is(err, checkpoint.ErrNone):
		fmt.Println("begin at step 1")
	case err != nil:
		return err
	default:
		fmt.Printf("go on after step %d with %q, %d records read\n", from.Step, model.String(), from.Position("train").Records)
	}

	saver := store.Saver(checkpoint.SaverOptions{EverySteps: 2})
	var buffer checkpoint.Buffer
	step := from.Step
	snapshot := func() checkpoint.Snapshot {
		return checkpoint.Snapshot{Step: step, Positions: []checkpoint.Position{{Channel: "train", Records: 10 * step}}}
	}
	for step < stop {
		step++
		model.WriteByte('a' + byte(step-1)) // training
		err := saver.Offer(ctx, step, func() (checkpoint.Snapshot, io.WriterTo) {
			return snapshot(), buffer.Copy(bytes.NewReader(model.Bytes()))
		})
		if err != nil {
			return err
		}
	}
	fmt.Println("stopped after step", step)
	return saver.Final(ctx, snapshot(), &model) // in the time that ctx has left
}
