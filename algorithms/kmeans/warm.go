package kmeans

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/ndarray"
	"github.com/algospec/algospec/channel"
)

// ModelChannel is the name of the channel with the artifact of an earlier job, model.tar.gz or one file of it, from whose
// state, or else whose centers, training goes on instead of drawing centers.
const ModelChannel = "model"

// warm has the leader read the earlier job's artifact, if the job has one, and tells the others. The centers of a model, of which nobody knows
// how many rows they stand for, count one each, as drawn ones do.
func (t *training) warm(ctx, save context.Context) error {
	hosts := &t.job.Cluster
	size := make([]float64, 2)
	var s State
	if c, ok := t.job.Channels[ModelChannel]; ok && hosts.Leader() {
		var err error
		if s, err = readArtifact(ctx, c); err != nil {
			return err
		}
		size[0], size[1] = float64(s.K), float64(s.D)
	}
	if err := hosts.Broadcast(save, 0, size); err != nil || size[0] == 0 {
		return err
	}
	k, d := int(size[0]), int(size[1])
	switch {
	case t.p.FeatureDim != 0 && d != t.p.FeatureDim:
		return algospec.ClientErrorf("channel %s: centers of %d features, where feature_dim is %d", ModelChannel, d, t.p.FeatureDim)
	case k < t.p.K:
		return algospec.ClientErrorf("channel %s: %d centers, fewer than the %d of hyperparameter k", ModelChannel, k, t.p.K)
	case k*d > maxNumbers:
		return algospec.ClientErrorf("channel %s: %d centers of %d features are more than %d numbers", ModelChannel, k, d, maxNumbers)
	}
	numbers := append(append(make([]float64, 0, k*d+k), s.Centers...), s.Counts...)[:k*d+k]
	if err := hosts.Broadcast(save, 0, numbers); err != nil {
		return err
	}
	t.State = State{K: k, D: d, Centers: numbers[: k*d : k*d], Counts: numbers[k*d:]}
	t.report.Infof("Going on from the %d centers of the channel %s. extra_center_factor and init_method are without effect.", k, ModelChannel)
	return nil
}

// readArtifact returns the state, or else the model, that a channel holds.
func readArtifact(ctx context.Context, c *channel.Channel) (State, error) {
	epoch, err := c.Open(ctx)
	if err != nil {
		return State{}, err
	}
	defer epoch.Close()
	s, err := artifact(epoch)
	if err != nil && ctx.Err() == nil {
		err = algospec.ClientErrorf("%w", epoch.At(err))
	}
	return s, err
}

// artifact reads a tar archive, compressed or not, or a single file.
func artifact(src io.Reader) (State, error) {
	r := bufio.NewReader(src)
	if head, _ := r.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return State{}, err
		}
		r = bufio.NewReader(unzipped)
	}
	if head, _ := r.Peek(262); len(head) < 262 || string(head[257:]) != "ustar" {
		return stateOrModel(r)
	}
	var found State
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return State{}, err
		}
		name := header.Name[strings.LastIndexByte(header.Name, '/')+1:]
		state := strings.HasPrefix(name, "state_")
		if !state && (name != ModelFile || found.K > 0) || header.Typeflag != tar.TypeReg {
			continue
		}
		if found, err = stateOrModel(archive); err != nil {
			return State{}, fmt.Errorf("%s: %w", header.Name, err)
		}
		if state {
			break
		}
	}
	if found.K == 0 {
		return found, errors.New("no " + ModelFile + " in the archive")
	}
	return found, nil
}

// stateOrModel reads an NDArray file.
func stateOrModel(r io.Reader) (State, error) {
	var file ndarray.File
	if _, err := file.ReadFrom(r); err != nil {
		return State{}, err
	}
	if len(file.Arrays) > 1 {
		return stateOf(&file)
	}
	m, err := modelOf(&file)
	if err != nil {
		return State{}, err
	}
	c := m.Centers
	centers := make([]float64, len(c.Data))
	for i, x := range c.Data {
		centers[i] = float64(x)
	}
	s := newState(c.Rows, c.Cols, centers)
	return s, s.check()
}
