package page

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"strings"
)

// A fragment is a part of a page that the script replaces when it has changed.
type fragment struct {
	ID   string        `json:"id"`
	Hash string        `json:"hash"` // of HTML
	HTML template.HTML `json:"html"`
	In   string        `json:"in,omitempty"` // the element it is added to where the page does not have it yet
}

func newFragment(id, name string, data any) (fragment, error) {
	html, err := render(name, data)
	return fragment{ID: id, Hash: hash(string(html)), HTML: html}, err
}

func hash(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("%016x", h.Sum64())
}

// live answers the script: with the fragments that differ from those whose hashes it has, and with the lines
// of the log from the one it asks for.
func (p *pages) live(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	// The order matters: a job that was over before its log was read writes no further lines.
	job, err := p.describe(r.Context(), name)
	if err != nil {
		return err
	}
	position, err := positionOf(r)
	if err != nil {
		return err
	}
	parts, err := p.parts(job)
	if err != nil {
		return err
	}
	log := p.logView(name, position)
	streams, err := log.tabs()
	if err != nil {
		return err
	}
	lines, err := render("log-lines.html", log)
	if err != nil {
		return err
	}
	have := map[string]string{}
	for _, pair := range r.URL.Query()["have"] {
		id, hash, _ := strings.Cut(pair, ".")
		have[id] = hash
	}
	answer := struct {
		Fragments []fragment `json:"fragments"`
		Log       liveLog    `json:"log"`
		Over      bool       `json:"over"` // nothing will change any more
	}{
		Fragments: []fragment{},
		Log:       liveLog{Stream: log.Stream, From: log.From, Next: log.Next, More: log.More, HTML: lines},
		Over:      ended(job.TrainingJobStatus) && !log.More,
	}
	for _, f := range append(parts.all(), streams) {
		if have[f.ID] != f.Hash {
			answer.Fragments = append(answer.Fragments, f)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(answer)
}

// liveLog is new lines of a log stream.
type liveLog struct {
	Stream string        `json:"stream"` // as the page names it; "" where there is none yet
	From   int           `json:"from"`
	Next   int           `json:"next"` // the line to ask for after these
	More   bool          `json:"more"` // there are lines after these already
	HTML   template.HTML `json:"html"`
}
