package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/checkpoint"
	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// fixture is the command of the scripts that makes files: "fixture KIND OUT ARGS…".
func fixture() {
	makers := map[string]func(args []string) ([]byte, error){
		"rows": rows, "odd": odd, "split": split, "flip": flip, "cut": cut, "join": join, "gzip": zip, "hex": unhex,
		"snapshot": snapshot,
	}
	kind, out, args := os.Args[1], os.Args[2], os.Args[3:]
	data, err := makers[kind](args)
	if err == nil {
		err = os.WriteFile(out, data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fixture:", err)
		os.Exit(1)
	}
}

// status is the command of the scripts that expects an exit status: "status STATUS COMMAND ARGS…".
func status() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != integer(os.Args[1]) {
		fmt.Fprintf(os.Stderr, "status %d, want %s\n", got, os.Args[1])
		os.Exit(1)
	}
}

func integer(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// rows makes dense rows: ROWS COLUMNS. Row i holds i, i+1, …, and its label is i mod 3.
func rows(args []string) ([]byte, error) {
	var out bytes.Buffer
	w := recordio.NewWriter(&out)
	row := make([]float32, integer(args[1]))
	for i := range integer(args[0]) {
		for j := range row {
			row[j] = float32(i + j)
		}
		if err := w.WriteRow(row, float32(i%3)); err != nil {
			return nil, err
		}
	}
	err := w.Flush()
	return out.Bytes(), err
}

// odd makes one record of everything, a sparse one, and an empty one.
func odd([]string) ([]byte, error) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	value := func(v *recordpb.Value) map[string]*recordpb.Value { return map[string]*recordpb.Value{"values": v} }
	var out bytes.Buffer
	w := recordio.NewWriter(&out)
	for _, record := range []*recordpb.Record{
		{
			Features: map[string]*recordpb.Value{
				"image": {Value: &recordpb.Value_Bytes{Bytes: &recordpb.Bytes{
					Value: [][]byte{{0xff, 0xd8}, {1}}, ContentType: proto.String("image/jpeg")}}},
				"grid": {Value: &recordpb.Value_Float64Tensor{Float64Tensor: &recordpb.Float64Tensor{
					Values: []float64{1, 2.5, 3, 1e300, 5, 6}, Shape: []uint64{2, 3}}}},
				"none\x1b[31m": {},
			},
			Label: value(&recordpb.Value{Value: &recordpb.Value_Int32Tensor{Int32Tensor: &recordpb.Int32Tensor{Values: []int32{-7}}}}),
			Uid:   proto.String("a b"), Metadata: proto.String("m\xff"), Configuration: proto.String(`{"k":"<1>"}`),
		},
		{Features: value(&recordpb.Value{Value: &recordpb.Value_Float32Tensor{Float32Tensor: &recordpb.Float32Tensor{
			Values: []float32{0.1, nan, -inf, float32(math.Copysign(0, -1))}, Keys: []uint64{3, 1, 300, 1 << 60}, Shape: []uint64{1 << 61}}}})},
		{},
	} {
		payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(record)
		if err != nil {
			return nil, err
		}
		if err := w.Write(payload); err != nil {
			return nil, err
		}
	}
	err := w.Flush()
	return out.Bytes(), err
}

// split makes the records of a file again in parts: IN BYTES.
func split(args []string) ([]byte, error) {
	in, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out bytes.Buffer
	w := recordio.NewWriter(&out)
	w.MaxPart = integer(args[1])
	for payload, err := range recordio.NewReader(in).All() {
		if err != nil {
			return nil, err
		}
		if err := w.Write(payload); err != nil {
			return nil, err
		}
	}
	err = w.Flush()
	return out.Bytes(), err
}

// flip changes a byte: IN OFFSET.
func flip(args []string) ([]byte, error) {
	data, err := os.ReadFile(args[0])
	if err == nil {
		data[integer(args[1])] ^= 0xff
	}
	return data, err
}

// cut leaves out bytes: IN BEGIN END.
func cut(args []string) ([]byte, error) {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	return slices.Delete(data, integer(args[1]), integer(args[2])), nil
}

// join puts files together: IN….
func join(args []string) (all []byte, err error) {
	for _, in := range args {
		data, err := os.ReadFile(in)
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	return all, nil
}

// zip compresses a file with gzip: IN.
func zip(args []string) ([]byte, error) {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// unhex makes the bytes that the arguments spell.
func unhex(args []string) ([]byte, error) { return hex.DecodeString(strings.Join(args, "")) }

// snapshot makes a snapshot: STEP HOST. It is saved as the only one, and its state is 1,000 bytes.
func snapshot(args []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store := checkpoint.NewStore(dir, checkpoint.Options{Host: args[1], HyperParameters: map[string]string{"k": "10"}})
	defer store.Close()
	about := checkpoint.Snapshot{
		Step:      int64(integer(args[0])),
		Positions: []checkpoint.Position{{Channel: "train", Epoch: 3, Records: 5000}},
		Random:    []byte{1, 2, 3}, Meta: map[string]string{"loss": "0.25\x1b[31m"},
	}
	if err := store.Save(context.Background(), about, strings.NewReader(strings.Repeat("weights\n", 125))); err != nil {
		return nil, err
	}
	saved, err := filepath.Glob(filepath.Join(dir, "*.ckpt"))
	if err != nil {
		return nil, err
	}
	return os.ReadFile(saved[0])
}

// get returns an object of the scripts' server.
func get(server *s3test.Server, bucket, key string) ([]byte, error) {
	out, err := server.Client().GetObject(context.Background(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}
