package linearlearner

import (
	"context"
	"fmt"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
)

// Fit trains on the rows of a source, RecordIO-protobuf with labels, as Train does, and returns the model. Of p only PredictorType is
// required, and NumClasses for multiclass_classifier; zero values are the defaults.
func Fit(ctx context.Context, train channel.Source, p Params) (*Model, error) {
	return FitChannels(ctx, p, &channel.Channel{Name: "train", Source: train}, nil)
}

// FitChannels is Fit of channels, whose content types say in which format their rows are. Validation, by which models are
// compared, may be nil.
func FitChannels(ctx context.Context, p Params, train, validation *channel.Channel) (*Model, error) {
	if losses[p.PredictorType] == nil {
		return nil, algospec.ClientErrorf("linearlearner: no predictor_type %q", p.PredictorType)
	}
	p = p.withDefaults()
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("linearlearner: %w", err)
	}
	job := &algospec.Job{Channels: map[string]*channel.Channel{"train": train}}
	if validation != nil {
		job.Channels["validation"] = validation
	}
	t := newTraining(job, p)
	t.library = true
	return t.run(ctx, ctx)
}
