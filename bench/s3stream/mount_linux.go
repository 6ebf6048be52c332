package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
)

func init() {
	children["mount"] = mount
	children["files"] = files
	children["random"] = random
}

// mount shows all objects below a directory until its input ends, and prints
// how many bytes it has fetched: URL DIR.
func mount(ctx context.Context, args []string) error {
	defer profiled()()
	client := newClient(args[0])
	objects, err := s3stream.List(ctx, client, "s3://data/")
	if err != nil {
		return err
	}
	list, err := s3stream.Layout("s3://data/", objects)
	if err != nil {
		return err
	}
	fsys, err := fastfile.Mount(ctx, args[1], client, list, fastfile.Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	fmt.Println(fsys.Stats().BytesFetched)
	return errors.Join(err, fsys.Close(), fsys.Err())
}

// files reads the files of a directory in order: DIR.
func files(ctx context.Context, args []string) error {
	entries, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := read(ctx, []string{filepath.Join(args[0], e.Name())}); err != nil {
			return err
		}
	}
	return nil
}

const randomCount = 5000

// random reads 4 KiB at random places of random files, and prints how many
// times and how long that took: DIR.
func random(ctx context.Context, args []string) error {
	entries, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	var open []*os.File
	var sizes []int64
	for _, e := range entries[:min(50, len(entries))] {
		file, err := os.Open(filepath.Join(args[0], e.Name()))
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := fs.Stat(os.DirFS(args[0]), e.Name())
		if err != nil {
			return err
		}
		open, sizes = append(open, file), append(sizes, info.Size())
	}
	rng, page, began := rand.New(rand.NewPCG(1, 2)), make([]byte, 4<<10), time.Now()
	for range randomCount {
		i := rng.IntN(len(open))
		if _, err := open[i].ReadAt(page, rng.Int64N(sizes[i]/4096)*4096); err != nil {
			return err
		}
	}
	fmt.Println(randomCount, time.Since(began).Seconds())
	return nil
}
