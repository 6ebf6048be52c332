package linearlearner

import (
	"fmt"
	"math"

	"github.com/algospec/algospec"
)

// A history is the mean loss of each model in each epoch: epoch after epoch.
type history struct{ Train, Validation []float32 }

const (
	mostDrawn = 10_000  // epochs
	mostKept  = 1 << 22 // numbers: of some 130,000 epochs of 32 models
)

// add keeps the losses of an epoch, as long as there is room.
func (h *history) add(train []float64, v *validation) {
	if len(h.Train)+len(train) > mostKept {
		return
	}
	for m, loss := range train {
		h.Train = append(h.Train, float32(loss))
		if v != nil {
			h.Validation = append(h.Validation, float32(v.objective[m]))
		}
	}
}

// savePictures saves the loss of the best model from epoch to epoch. The loss of regressor on the channel train is of scaled labels, as
// the log has it, and has a picture of its own.
func (t *training) savePictures() {
	title := "Loss of model %d, which is the best"
	train, validation := t.lossLine("train", t.History.Train), t.lossLine("validation", t.History.Validation)
	picture := func(name, y string, lines ...algospec.Series) algospec.Picture {
		return algospec.Picture{Name: name, Title: fmt.Sprintf(title, t.Best.Model), X: "epoch, from 0", Y: y, Lines: lines}
	}
	var pictures []algospec.Picture
	switch {
	case train.Y != nil && validation.Y != nil && t.p.PredictorType != regressor:
		pictures = append(pictures, picture("loss", t.objective(), train, validation))
	default:
		if train.Y != nil {
			pictures = append(pictures, picture("loss", t.objective(), train))
		}
		if validation.Y != nil {
			pictures = append(pictures, picture("validation-loss", t.objective(), validation))
		}
	}
	if t.library || len(pictures) == 0 {
		return
	}
	if err := t.job.SavePictures(pictures...); err != nil {
		t.report.Warnf("There are no pictures: %v", err)
	}
}

// lossLine returns the best model's line; of no values where there are none, or one that cannot be drawn.
func (t *training) lossLine(name string, losses []float32) algospec.Series {
	line := algospec.Series{Name: name}
	for i := t.Best.Model; i < len(losses) && len(line.Y) < mostDrawn; i += len(t.settings) {
		if v := float64(losses[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return algospec.Series{Name: name}
		}
		line.X, line.Y = append(line.X, float64(len(line.X))), append(line.Y, float64(losses[i]))
	}
	return line
}
