package checkpoint

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/algospec/algospec/internal/atomicfile"
)

// A Name is what the name of a snapshot's file tells. Names sort by step, then by host.
type Name struct {
	Step   int64
	Host   string // or leader
	Digest string // of the hyperparameters
}

// leader stands for the host in the names of snapshots that only the leader saves.
const leader = "leader"

// maxStep is the greatest that a name has digits for.
const maxStep = 999_999_999_999

var (
	nameForm = regexp.MustCompile(`^step-([0-9]{12})\.([A-Za-z0-9._-]+)\.([0-9a-f]{8})\.ckpt$`)
	hostForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,190}$`) // with all endings a name has 255 characters at most
)

// String returns the name.
func (n Name) String() string { return fmt.Sprintf("step-%012d.%s.%s.ckpt", n.Step, n.Host, n.Digest) }

// ParseName parses the name of a file, and reports whether it is a snapshot's. The service's markers and
// files that are being written are none.
func ParseName(text string) (Name, bool) {
	parts := nameForm.FindStringSubmatch(text)
	if parts == nil {
		return Name{}, false
	}
	step, err := strconv.ParseInt(parts[1], 10, 64)
	return Name{step, parts[2], parts[3]}, err == nil
}

// Check returns an error where a file of this name does not hold the snapshot that it says.
func (n Name) Check(snapshot *Snapshot) error {
	switch {
	case snapshot.Step != n.Step:
		return fmt.Errorf("%w: the file holds step %d", errName, snapshot.Step)
	case snapshot.LeaderOnly != (n.Host == leader) || !snapshot.LeaderOnly && snapshot.Host != n.Host:
		return fmt.Errorf("%w: the file holds one of %s", errName, snapshot.Host)
	}
	return nil
}

// What the service appends to the name of a file that it uploads (container contract, 1.8).
const (
	uploading = ".sagemaker-uploading" // the file must not be deleted
	uploaded  = ".sagemaker-uploaded"
)

// unfinished reports whether a file was being written for the host when its writer was killed.
func unfinished(text, host string) bool {
	if !atomicfile.Unfinished(text) {
		return false
	}
	name, ok := ParseName(text[:len(text)-len(atomicfile.Suffix)])
	return ok && name.Host == host
}

// digest tells hyperparameters from others, but for the keys in except.
func digest(parameters map[string]string, except []string) string {
	text, err := json.Marshal(without(parameters, except)) // keys in order
	if err != nil {
		panic(err) // strings are never wrong
	}
	sum := fnv.New32a() // and no stronger hash: a snapshot holds the hyperparameters themselves
	sum.Write(text)
	return fmt.Sprintf("%08x", sum.Sum32())
}

func without(parameters map[string]string, except []string) map[string]string {
	left := maps.Clone(parameters)
	if left == nil {
		left = map[string]string{}
	}
	maps.DeleteFunc(left, func(key, _ string) bool { return slices.Contains(except, key) })
	return left
}
