package pca

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/algospec/algospec"
)

// StateFile is the name, in the model directory, of what a job with _save_state=true has learned, from which another
// job goes on. It comes before ModelFile in every listing, which Pipe mode needs.
const StateFile = "algo-1.state"

// modelChannel is the channel that has the model of an earlier job, as for incremental training on SageMaker.
const modelChannel = "model"

// stateMagic is what a state begins with.
const stateMagic = "algospec pca state 1\n"

// A state is written as stateMagic, what the Learner writes, and the SHA-256 of both.
type state struct{ *Learner }

// WriteTo writes the state.
func (s state) WriteTo(w io.Writer) (int64, error) {
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	n, err := io.WriteString(both, stateMagic)
	if err != nil {
		return int64(n), err
	}
	body, err := s.Learner.WriteTo(both)
	if err != nil {
		return int64(n) + body, err
	}
	end, err := w.Write(sum.Sum(nil))
	return int64(n) + body + int64(end), err
}

// readModelChannel returns what an earlier job has learned, where the job has it: on the leader, from the channel
// model, which holds the model directory of that job: its model.tar.gz, an archive without gzip, or its files.
func readModelChannel(ctx context.Context, job *algospec.Job, p Params) (*Learner, error) {
	if _, ok := job.Channels[modelChannel]; !ok || !job.Cluster.Leader() {
		return nil, nil
	}
	epoch, err := job.Channel(modelChannel).Open(ctx)
	if err != nil {
		return nil, err
	}
	defer epoch.Close()
	learner := NewLearner(p)
	if err := readState(bufio.NewReader(epoch), learner); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, algospec.ClientErrorf("channel %s: %w", modelChannel, err)
	}
	return learner, nil
}

var errNoState = errors.New("no state to go on from: the model file alone does not hold what training needs; " +
	"a job with the hyperparameter _save_state=true leaves it beside the model, as " + StateFile)

// readState finds the state in what a channel holds, and reads it.
func readState(r *bufio.Reader, l *Learner) error {
	head, err := r.Peek(262)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte(stateMagic)):
		return readChecked(r, l)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		return readArchive(unzipped, l)
	case len(head) == 262 && string(head[257:]) == "ustar":
		return readArchive(r, l)
	}
	return errNoState
}

// readArchive reads the state of an archive.
func readArchive(r io.Reader, l *Learner) error {
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		switch {
		case err == io.EOF:
			return errNoState
		case err != nil:
			return fmt.Errorf("the archive is damaged: %w", err)
		case header.Typeflag != tar.TypeReg:
			continue
		}
		member := bufio.NewReader(archive)
		if head, _ := member.Peek(len(stateMagic)); string(head) == stateMagic {
			return readChecked(member, l)
		}
	}
}

// readChecked reads a state that ends with its checksum.
func readChecked(r *bufio.Reader, l *Learner) error {
	if _, err := r.Discard(len(stateMagic)); err != nil {
		return err
	}
	sum := summing{r: r, sum: sha256.New()}
	io.WriteString(sum.sum, stateMagic)
	read := NewLearner(l.p)
	if _, err := read.ReadFrom(&sum); err != nil {
		return fmt.Errorf("the state is damaged: %w", unexpected(err))
	}
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(r, want); err != nil {
		return fmt.Errorf("the state is damaged: %w", unexpected(err))
	}
	if !bytes.Equal(want, sum.sum.Sum(nil)) {
		return errors.New("the state is damaged: checksum mismatch")
	}
	if read.stat == nil {
		return errors.New("the state is of no record")
	}
	l.stat = read.stat
	return nil
}

// summing sums what is read.
type summing struct {
	r   io.Reader
	sum hash.Hash
}

func (s *summing) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum.Write(p[:n])
	return n, err
}
