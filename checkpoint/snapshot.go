package checkpoint

import (
	"cmp"
	"time"
)

// A Snapshot is what a store keeps beside the state itself. Who saves one sets the first fields, as
// far as they mean anything for the algorithm; Save sets the others.
type Snapshot struct {
	Step      int64             `json:"step"`
	Positions []Position        `json:"positions,omitempty"` // in the channels, where a resumed run goes on
	Random    []byte            `json:"random,omitempty"`    // state of the random generator, as its MarshalBinary has it
	Meta      map[string]string `json:"meta,omitempty"`      // what else the author wants to know, in short

	Time            time.Time         `json:"time"`
	Host            string            `json:"host"` // that saved it
	Rank            int               `json:"rank"`
	Size            int               `json:"size"` // how many hosts the job had
	LeaderOnly      bool              `json:"leader_only,omitempty"`
	HyperParameters map[string]string `json:"hyperparameters,omitempty"`
	Serial          int64             `json:"serial"`        // counts the host's snapshots: the newest has the greatest
	Run             string            `json:"run,omitempty"` // the same for snapshots of one run of the hosts, see LastCommon
}

// A Position is how much of a channel has been consumed. The zero value, but for the name, is its
// beginning.
type Position struct {
	Channel string `json:"channel"`
	Epoch   int    `json:"epoch"`           // counts from 0
	Records int64  `json:"records"`         // of this epoch
	Bytes   int64  `json:"bytes,omitempty"` // of this epoch that those records took; 0 means unknown
}

// Position returns how much of the channel had been consumed: nothing where the snapshot does not tell.
func (s *Snapshot) Position(channel string) Position {
	for _, p := range s.Positions {
		if p.Channel == channel {
			return p
		}
	}
	return Position{Channel: channel}
}

// newer orders snapshots of one host, the newest first.
func newer(a, b *Snapshot) int {
	return cmp.Or(cmp.Compare(b.Serial, a.Serial), cmp.Compare(b.Step, a.Step))
}
