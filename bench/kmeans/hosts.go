package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/bench/internal/compare"
	"github.com/algospec/algospec/bench/internal/datasets"
	"github.com/algospec/algospec/bench/internal/peers"
	"github.com/algospec/algospec/cluster"
)

// What each host does in the study of communication.
const (
	hostK, hostColumns, hostRows = 500, 50, 10000
	hostBatches                  = 100
)

var hostNames = []string{"algo-1", "algo-2"}

// A share is where the time of a host went, in seconds by the clock, and the processor's, all of it and that of AllReduce.
type share struct{ Compute, Wait, Communicate, CPU, CommunicateCPU float64 }

// communication has two hosts, processes of this machine with a core each, learn from mini-batches together.
func communication(ctx context.Context, s *peers.Setup) error {
	fmt.Printf("\nTwo hosts on this machine, processes of one thread that speak by TCP: k=%d, %d features, mini-batches of %d rows a host.\n", hostK, hostColumns, hostRows)
	fmt.Print("\n| round | computing, s | waiting for the other, s | AllReduce, s | its share by the clock | of the processor's time |\n|---|---|---|---|---|---|\n")
	for round := range s.Rounds.N {
		shares, err := hosts(ctx, max(5, int(hostBatches*s.Scale)))
		if err != nil {
			return err
		}
		for rank, at := range shares {
			fmt.Printf("| %d, host %d | %.3f | %.3f | %.3f | %.1f %% | %.1f %% |\n", round+1, rank, at.Compute, at.Wait, at.Communicate,
				100*at.Communicate/(at.Compute+at.Wait+at.Communicate), 100*at.CommunicateCPU/at.CPU)
		}
	}
	return nil
}

// hosts starts the hosts and waits for what they tell.
func hosts(ctx context.Context, batches int) ([]share, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close() // for the leader
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outputs := make([]bytes.Buffer, len(hostNames))
	var running []*exec.Cmd
	for i, name := range hostNames {
		cmd := exec.CommandContext(ctx, self, "host", name, strconv.Itoa(port), strconv.Itoa(batches))
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Stdout, cmd.Stderr = &outputs[i], os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		running = append(running, cmd)
	}
	shares := make([]share, len(running))
	for i, cmd := range running {
		err := cmd.Wait()
		if err == nil {
			err = json.Unmarshal(outputs[i].Bytes(), &shares[i])
		}
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", hostNames[i], err)
		}
	}
	return shares, nil
}

// host is one of the hosts: NAME PORT BATCHES.
func host(ctx context.Context, args []string) error {
	port, err := strconv.Atoi(args[1])
	batches, err2 := strconv.Atoi(args[2])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	addresses := map[string]string{}
	for _, name := range hostNames {
		addresses[name] = "127.0.0.1"
	}
	c, err := cluster.New(cluster.Config{CurrentHost: args[0], Hosts: hostNames}, cluster.Options{Addresses: addresses, Port: port})
	if err != nil {
		return err
	}
	defer c.Close()
	data := datasets.Blobs(hostRows, hostColumns, uint64(c.Rank()+1))
	at := centers{Rows: hostK, Cols: hostColumns, Stride: hostColumns, Data: data.X.Data[:hostK*hostColumns]}
	on := engine.NewCenters(at)
	totals := make([]float64, hostK*hostColumns+hostK) // the sums of the centers' rows, and how many they are
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	var spent share
	start := compare.CPU()
	for range batches {
		began := time.Now()
		clear(totals)
		on.AssignAndSum(compute.Matrix{X: data.X}, nil, totals[:hostK*hostColumns], totals[hostK*hostColumns:])
		on.Set(at)
		computed := time.Now()
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		met, before := time.Now(), compare.CPU()
		if err := c.AllReduce(ctx, totals); err != nil {
			return err
		}
		spent.Compute += computed.Sub(began).Seconds()
		spent.Wait += met.Sub(computed).Seconds()
		spent.Communicate += time.Since(met).Seconds()
		spent.CommunicateCPU += compare.CPU() - before
	}
	spent.CPU = compare.CPU() - start
	return json.NewEncoder(os.Stdout).Encode(spent)
}
