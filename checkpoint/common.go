package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// What a host has, as it tells the leader.
type inventory struct {
	Host       string
	LeaderOnly bool
	Snapshots  []held // whole, the newest first
	Err        string // why it has none that it could restore
	Client     bool   // as the settings are at fault
}

type held struct {
	Step int64
	Run  string
}

// A verdict is what the leader tells the hosts.
type verdict struct {
	Common held
	None   bool   // there is no step
	Err    string // or this is wrong
	Client bool   // with the settings
	Run    string // the name of the run that begins
}

// LastCommon returns the newest step whose snapshots all hosts can restore, which is the same on all.
// All call it; RestoreStep then restores it. Snapshots of equal steps belong together where hosts saved
// them in one run, that is, after the same call of LastCommon, or Restore. Where there are no such steps the
// error is ErrNone, and a host that has some all the same tells the logger; what else keeps one host from restoring is an error on all.
//
// That there is a common step as soon as each host has saved once is for the hosts to see to, by saving
// at the same steps, none further ahead than Options.Keep allows: as a Saver does.
func (s *Store) LastCommon(ctx context.Context) (step int64, err error) {
	if s.size() == 1 {
		latest, err := s.Latest(ctx)
		return latest.Step, err
	}
	mine, failure := s.inventory(ctx)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	agreed, err := s.agree(ctx, mine)
	switch {
	case err != nil:
		return 0, fmt.Errorf("checkpoint: last common step: %w", err)
	case failure != nil:
		return 0, failure
	case agreed.Err != "":
		return 0, &agreedError{agreed}
	}
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	defer s.release()
	s.run, s.common = agreed.Run, nil
	if agreed.None {
		if len(mine.Snapshots) > 0 {
			s.opts.Logger.Warn("checkpoints passed over: no step is common to all hosts", "newest", mine.Snapshots[0].Step)
		}
		return 0, ErrNone
	}
	s.common = &agreed.Common
	return agreed.Common.Step, nil
}

// An agreedError is what is wrong on a host, on all of them.
type agreedError struct{ verdict verdict }

func (e *agreedError) Error() string { return "checkpoint: " + e.verdict.Err }

// ClientError reports whether the settings are at fault.
func (e *agreedError) ClientError() bool { return e.verdict.Client }

func isClientError(err error) bool {
	client, ok := errors.AsType[interface {
		error
		ClientError() bool
	}](err)
	return ok && client.ClientError()
}

// inventory looks what this host has. Its error is one for which all hosts must fail.
func (s *Store) inventory(ctx context.Context) (inventory, error) {
	mine := inventory{Host: s.opts.Host, LeaderOnly: s.opts.LeaderOnly}
	files, err := s.usable(ctx, func(*file) bool { return true }, math.MaxInt)
	if errors.Is(err, ErrNone) {
		return mine, nil
	}
	if err != nil {
		mine.Err, mine.Client = strings.TrimPrefix(err.Error(), "checkpoint: "), isClientError(err)
	}
	for _, f := range files {
		mine.Snapshots = append(mine.Snapshots, held{f.Step, f.snapshot.Run})
	}
	return mine, err
}

// agree gathers what the hosts have, and returns what the leader makes of it.
func (s *Store) agree(ctx context.Context, mine inventory) (verdict, error) {
	message, err := json.Marshal(mine)
	if err != nil {
		return verdict{}, err
	}
	all, err := s.opts.Cluster.Gather(ctx, message)
	if err != nil {
		return verdict{}, err
	}
	var text []byte
	if s.rank() == 0 {
		if text, err = json.Marshal(decide(all)); err != nil {
			return verdict{}, err
		}
	}
	if text, err = broadcast(ctx, s.opts.Cluster, text); err != nil {
		return verdict{}, err
	}
	var agreed verdict
	err = json.Unmarshal(text, &agreed)
	return agreed, err
}

// decide finds the newest step that all have, in the order of the leader's.
func decide(messages [][]byte) verdict {
	hosts := make([]inventory, len(messages))
	for i, message := range messages {
		if err := json.Unmarshal(message, &hosts[i]); err != nil {
			return verdict{Err: fmt.Sprintf("host of rank %d: %v", i, err)}
		}
	}
	counts := map[held]int{}
	ranks := map[string]int{}
	for rank, host := range hosts {
		switch {
		case host.Err != "":
			return verdict{Err: host.Host + ": " + host.Err, Client: host.Client}
		case host.LeaderOnly != hosts[0].LeaderOnly:
			return verdict{Err: fmt.Sprintf("%s and %s differ in LeaderOnly", hosts[0].Host, host.Host)}
		}
		if other, there := ranks[host.Host]; there && !host.LeaderOnly {
			return verdict{Err: fmt.Sprintf("the hosts of ranks %d and %d are both called %s, and would save to the same files", other, rank, host.Host)}
		}
		ranks[host.Host] = rank
		seen := map[held]bool{}
		for _, h := range host.Snapshots {
			if !seen[h] {
				counts[h]++
			}
			seen[h] = true
		}
	}
	for _, h := range hosts[0].Snapshots {
		if counts[h] == len(hosts) {
			return verdict{Common: h, Run: newRun()}
		}
	}
	if hosts[0].LeaderOnly {
		if err := unseen(hosts); err != "" {
			return verdict{Err: err}
		}
	}
	return verdict{None: true, Run: newRun()}
}

// unseen says who lacks the leader's snapshot, where none is common. It is brought to all hosts before they
// start; where it was not, to begin anew would lose it.
func unseen(hosts []inventory) string {
	for _, host := range hosts {
		for _, other := range hosts {
			if len(host.Snapshots) > 0 && !slices.Contains(other.Snapshots, host.Snapshots[0]) {
				return fmt.Sprintf("step %d: %s has the leader's snapshot, %s does not", host.Snapshots[0].Step, host.Host, other.Host)
			}
		}
	}
	return ""
}

// broadcast sends text from the leader to all.
func broadcast(ctx context.Context, cluster Cluster, text []byte) ([]byte, error) {
	length := []float64{float64(len(text))}
	if err := cluster.Broadcast(ctx, 0, length); err != nil {
		return nil, err
	}
	const most = 16 << 20
	if !(length[0] >= 0 && length[0] <= most) {
		return nil, fmt.Errorf("the leader has %v bytes to say", length[0])
	}
	numbers := make([]float64, int(length[0]))
	for i, b := range text {
		numbers[i] = float64(b)
	}
	if err := cluster.Broadcast(ctx, 0, numbers); err != nil {
		return nil, err
	}
	text = make([]byte, len(numbers))
	for i, x := range numbers {
		text[i] = byte(x)
	}
	return text, nil
}

// newRun returns the name of a run, which no other has.
func newRun() string { return strconv.FormatUint(rand.Uint64(), 36) }
