//go:build unix

package channel_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/algospec/algospec/channel"
)

// In a training container algospec.Main makes the channels; this one is made by hand, and a
// goroutine plays the platform: a pipe for each epoch.
func ExampleFIFO() {
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "train")
	go func() {
		for epoch := range 2 {
			pipe := fmt.Sprintf("%s_%d", path, epoch)
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				panic(err)
			}
			if err := os.WriteFile(pipe, []byte("1,2\n3,4\n"), 0); err != nil {
				panic(err)
			}
		}
	}()

	train := &channel.Channel{Name: "train", Source: channel.FIFO{Path: path}}
	for epoch, err := range train.Epochs(context.Background(), 2) {
		if err != nil {
			panic(err)
		}
		data, err := io.ReadAll(epoch)
		fmt.Printf("epoch %d: %q %v\n", epoch.Number, data, err)
	}
	// Output:
	// epoch 0: "1,2\n3,4\n" <nil>
	// epoch 1: "1,2\n3,4\n" <nil>
}
