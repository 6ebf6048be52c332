package api

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// apply holds a request against the algorithm's specification and puts in what the algorithm says: the
// image, the defaults of hyperparameters, the metrics.
func apply(spec *types.TrainingSpecification, in *sagemaker.CreateTrainingJobInput) error {
	var r rules
	parameters := r.parameters(spec.SupportedHyperParameters, in.HyperParameters)
	r.inputs(spec, in)
	r.instances(spec, in.ResourceConfig)
	if len(in.AlgorithmSpecification.MetricDefinitions) > 0 && len(spec.MetricDefinitions) > 0 {
		r.bad("MetricDefinitions cannot be given: the algorithm defines its own.")
	}
	if err := r.err(); err != nil {
		return err
	}
	in.HyperParameters = parameters
	in.AlgorithmSpecification.TrainingImage = spec.TrainingImage
	if len(spec.MetricDefinitions) > 0 {
		in.AlgorithmSpecification.MetricDefinitions = spec.MetricDefinitions
	}
	return nil
}

// parameters checks hyperparameters and returns them with the defaults filled in.
func (r *rules) parameters(specs []types.HyperParameterSpecification, given map[string]string) map[string]string {
	all := maps.Clone(given)
	known := map[string]bool{}
	for _, spec := range specs {
		name := aws.ToString(spec.Name)
		known[name] = true
		value, ok := given[name]
		switch {
		case ok:
			if problem := unfit(spec, value); problem != "" {
				r.bad("Hyperparameter %s: %s.", name, problem)
			}
		case spec.DefaultValue != nil:
			if all == nil {
				all = map[string]string{}
			}
			all[name] = *spec.DefaultValue
		case aws.ToBool(spec.IsRequired):
			r.bad("Hyperparameter %s is required.", name)
		}
	}
	for _, name := range sortedKeys(given) {
		if !known[name] {
			r.bad("Hyperparameter %s is not one of the algorithm's.", name)
		}
	}
	return all
}

// unfit says why a value is none of a hyperparameter's, "" if it is one.
func unfit(spec types.HyperParameterSpecification, value string) string {
	var integers types.IntegerParameterRangeSpecification
	var numbers types.ContinuousParameterRangeSpecification
	var words []string
	if spec.Range != nil {
		if spec.Range.IntegerParameterRangeSpecification != nil {
			integers = *spec.Range.IntegerParameterRangeSpecification
		}
		if spec.Range.ContinuousParameterRangeSpecification != nil {
			numbers = *spec.Range.ContinuousParameterRangeSpecification
		}
		if spec.Range.CategoricalParameterRangeSpecification != nil {
			words = spec.Range.CategoricalParameterRangeSpecification.Values
		}
	}
	switch spec.Type {
	case types.ParameterTypeInteger:
		return outside(value, "an integer", parseInteger, integers.MinValue, integers.MaxValue)
	case types.ParameterTypeContinuous:
		return outside(value, "a number", parseNumber, numbers.MinValue, numbers.MaxValue)
	case types.ParameterTypeCategorical:
		if words != nil && !slices.Contains(words, value) {
			return strconv.Quote(value) + " is not one of " + strings.Join(words, ", ")
		}
	}
	return ""
}

// outside says why a number is not within bounds, which belong to the range.
func outside(value, kind string, parse func(string) (*big.Float, bool), low, high *string) string {
	number, ok := parse(value)
	if !ok {
		return strconv.Quote(value) + " is not " + kind
	}
	if low != nil {
		if bound, ok := parse(*low); ok && number.Cmp(bound) < 0 {
			return value + " is less than " + *low
		}
	}
	if high != nil {
		if bound, ok := parse(*high); ok && number.Cmp(bound) > 0 {
			return value + " is greater than " + *high
		}
	}
	return ""
}

func parseInteger(s string) (*big.Float, bool) {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || len(s) > 256 {
		return nil, false
	}
	return new(big.Float).SetPrec(1024).SetInt(n), true
}

func parseNumber(s string) (*big.Float, bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) {
		return nil, false
	}
	return big.NewFloat(n), true
}

// inputs checks the channels of a request against those of the algorithm.
func (r *rules) inputs(spec *types.TrainingSpecification, in *sagemaker.CreateTrainingJobInput) {
	given := map[string]bool{}
	for _, c := range in.InputDataConfig {
		name := aws.ToString(c.ChannelName)
		given[name] = true
		i := slices.IndexFunc(spec.TrainingChannels, func(s types.ChannelSpecification) bool { return aws.ToString(s.Name) == name })
		if i < 0 {
			r.bad("Channel %s is not one of the algorithm's.", name)
			continue
		}
		r.input(spec.TrainingChannels[i], c, mode(in.AlgorithmSpecification, c))
	}
	for _, s := range spec.TrainingChannels {
		if name := aws.ToString(s.Name); aws.ToBool(s.IsRequired) && !given[name] {
			r.bad("Channel %s is required.", name)
		}
	}
}

func (r *rules) input(s types.ChannelSpecification, c types.Channel, mode types.TrainingInputMode) {
	name := aws.ToString(s.Name)
	if content := aws.ToString(c.ContentType); content != "" && !slices.Contains(s.SupportedContentTypes, content) {
		r.bad("Channel %s: content type %s is not one of %s.", name, content, strings.Join(s.SupportedContentTypes, ", "))
	}
	if !slices.Contains(s.SupportedInputModes, mode) {
		r.bad("Channel %s: input mode %s is not one of %v.", name, mode, s.SupportedInputModes)
	}
	compression := c.CompressionType
	if compression == "" {
		compression = types.CompressionTypeNone
	}
	supported := s.SupportedCompressionTypes
	if len(supported) == 0 {
		supported = []types.CompressionType{types.CompressionTypeNone}
	}
	if !slices.Contains(supported, compression) {
		r.bad("Channel %s: compression type %s is not one of %v.", name, compression, supported)
	}
}

// instances checks the hosts of a request against what the algorithm supports.
func (r *rules) instances(spec *types.TrainingSpecification, c *types.ResourceConfig) {
	hosts := aws.ToInt32(c.InstanceCount)
	kinds := []types.TrainingInstanceType{c.InstanceType}
	if len(c.InstanceGroups) > 0 {
		kinds = nil
		for _, g := range c.InstanceGroups {
			hosts += aws.ToInt32(g.InstanceCount)
			kinds = append(kinds, g.InstanceType)
		}
	}
	for _, kind := range kinds {
		if !slices.Contains(spec.SupportedTrainingInstanceTypes, kind) {
			r.bad("Instance type %s is not one that the algorithm supports.", kind)
		}
	}
	if hosts > 1 && !aws.ToBool(spec.SupportsDistributedTraining) {
		r.bad("The algorithm does not support distributed training, and %d instances are asked for.", hosts)
	}
}

// checkSpecification returns what CreateAlgorithm refuses besides broken limits.
func checkSpecification(spec *types.TrainingSpecification) error {
	var r rules
	seen := map[string]bool{}
	for _, p := range spec.SupportedHyperParameters {
		name := aws.ToString(p.Name)
		if seen[name] {
			r.bad("Hyperparameter %s is specified twice.", name)
		}
		seen[name] = true
		if problem := inconsistent(p); problem != "" {
			r.bad("Hyperparameter %s: %s.", name, problem)
		}
	}
	channels := map[string]bool{}
	for _, c := range spec.TrainingChannels {
		if name := aws.ToString(c.Name); channels[name] {
			r.bad("Channel %s is specified twice.", name)
		}
		channels[aws.ToString(c.Name)] = true
	}
	r.metrics(spec.MetricDefinitions)
	return r.err()
}

// inconsistent says what is wrong with the specification of a hyperparameter.
func inconsistent(p types.HyperParameterSpecification) string {
	if p.Range != nil {
		if problem := badRange(p.Type, p.Range); problem != "" {
			return problem
		}
	}
	if p.DefaultValue != nil {
		if aws.ToBool(p.IsRequired) {
			return "one that is required cannot have a default"
		}
		if problem := unfit(p, *p.DefaultValue); problem != "" {
			return "the default: " + problem
		}
	}
	return ""
}

func badRange(kind types.ParameterType, r *types.ParameterRange) string {
	given := 0
	for _, there := range []bool{r.IntegerParameterRangeSpecification != nil, r.ContinuousParameterRangeSpecification != nil, r.CategoricalParameterRangeSpecification != nil} {
		if there {
			given++
		}
	}
	if given != 1 {
		return "want exactly one kind of range"
	}
	switch {
	case kind == types.ParameterTypeInteger && r.IntegerParameterRangeSpecification != nil:
		s := r.IntegerParameterRangeSpecification
		return badBounds("an integer", parseInteger, s.MinValue, s.MaxValue)
	case kind == types.ParameterTypeContinuous && r.ContinuousParameterRangeSpecification != nil:
		s := r.ContinuousParameterRangeSpecification
		return badBounds("a number", parseNumber, s.MinValue, s.MaxValue)
	case kind == types.ParameterTypeCategorical && r.CategoricalParameterRangeSpecification != nil:
		return ""
	}
	return "the range is not one for type " + string(kind)
}

func badBounds(kind string, parse func(string) (*big.Float, bool), low, high *string) string {
	from, ok := parse(aws.ToString(low))
	if !ok {
		return "MinValue " + strconv.Quote(aws.ToString(low)) + " is not " + kind
	}
	to, ok := parse(aws.ToString(high))
	if !ok {
		return "MaxValue " + strconv.Quote(aws.ToString(high)) + " is not " + kind
	}
	if from.Cmp(to) > 0 {
		return "MinValue " + *low + " is greater than MaxValue " + *high
	}
	return ""
}
