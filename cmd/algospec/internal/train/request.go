package train

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/cmd/algospec/internal/builtin"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform/api"
)

// request is what the file and the flags ask for.
func (c *Run) request(stdin io.Reader) (*sagemaker.CreateTrainingJobInput, error) {
	request := new(sagemaker.CreateTrainingJobInput)
	if c.File != "" {
		if err := readRequest(c.File, stdin, request); err != nil {
			return nil, console.StatusError{Status: console.ExitUsage, Err: err}
		}
	} else if c.Image == "" && c.Command == "" {
		return nil, console.Usagef("want a job.json, --image or --command")
	}
	if err := c.apply(request); err != nil {
		return nil, err
	}
	if a := request.AlgorithmSpecification; aws.ToString(a.AlgorithmName) != "" {
		return nil, console.Usagef("AlgorithmName: only a platform has algorithms by name; TrainingImage or --command is for \"run\"")
	}
	complete(request)
	return request, nil
}

// requestLimit is how long a file may be, as the API has it.
const requestLimit = 1 << 20

func readRequest(path string, stdin io.Reader, request *sagemaker.CreateTrainingJobInput) error {
	file := io.NopCloser(stdin)
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return err
		}
		file = opened
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, requestLimit+1))
	if err == nil && len(text) > requestLimit {
		err = fmt.Errorf("longer than %d bytes", requestLimit)
	}
	if err == nil {
		err = parseRequest(text, request)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// parseRequest refuses members that CreateTrainingJob doesn't have: in a file, they are typing errors.
func parseRequest(text []byte, request *sagemaker.CreateTrainingJobInput) error {
	if err := api.Unmarshal(text, request); err != nil {
		return errors.Unwrap(atFault(err))
	}
	understood, err := api.Marshal(request)
	if err != nil {
		return err
	}
	var given, known any
	if err := errors.Join(json.Unmarshal(text, &given), json.Unmarshal(understood, &known)); err != nil {
		return err
	}
	if unknown := missing(given, known, ""); unknown != "" {
		return fmt.Errorf("CreateTrainingJob has no member %s", unknown)
	}
	return nil
}

// missing returns the path of something in a document that another one lacks, "" if there is nothing.
func missing(given, known any, path string) string {
	switch given := given.(type) {
	case map[string]any:
		known, _ := known.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(given)) {
			here := strings.TrimPrefix(path+"."+name, ".")
			value, there := known[name]
			if !there && !empty(given[name]) {
				return here
			}
			if found := missing(given[name], value, here); there && found != "" {
				return found
			}
		}
	case []any:
		known, _ := known.([]any)
		for i := range min(len(given), len(known)) {
			if found := missing(given[i], known[i], fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}
	}
	return ""
}

// empty reports whether a value may have been left out as it says nothing.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	}
	return false
}

// apply puts what the flags say in place of what the file says.
func (c *Run) apply(request *sagemaker.CreateTrainingJobInput) error {
	if request.AlgorithmSpecification == nil {
		request.AlgorithmSpecification = new(types.AlgorithmSpecification)
	}
	if request.ResourceConfig == nil {
		request.ResourceConfig = new(types.ResourceConfig)
	}
	a := request.AlgorithmSpecification
	if image := cmp.Or(c.Image, c.commandImage()); image != "" {
		a.TrainingImage, a.AlgorithmName = aws.String(image), nil
	}
	if c.InputMode != "" {
		a.TrainingInputMode = types.TrainingInputMode(c.InputMode)
	}
	if c.InstanceCount > 0 {
		request.ResourceConfig.InstanceCount = aws.Int32(c.InstanceCount)
	}
	if c.MaxRuntime > 0 {
		if request.StoppingCondition == nil {
			request.StoppingCondition = new(types.StoppingCondition)
		}
		request.StoppingCondition.MaxRuntimeInSeconds = aws.Int32(int32(min(c.MaxRuntime/time.Second, 1<<30)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Metric)) {
		a.MetricDefinitions = append(a.MetricDefinitions, types.MetricDefinition{Name: aws.String(name), Regex: aws.String(c.Metric[name])})
	}
	request.HyperParameters = over(request.HyperParameters, c.Hyperparameter)
	request.Environment = over(request.Environment, c.Environment)
	if c.Name != "" {
		request.TrainingJobName = aws.String(c.Name)
	}
	return c.applyChannels(request)
}

// commandImage is what stands for the image where a command runs.
func (c *Run) commandImage() string {
	if c.Command == "" {
		return ""
	}
	return "local/" + notInNames.ReplaceAllString(filepath.Base(strings.Fields(c.Command)[0]), "-")
}

func (c *Run) applyChannels(request *sagemaker.CreateTrainingJobInput) error {
	for _, text := range c.Channel {
		channel, err := parseChannel(text)
		if err != nil {
			return console.Usagef("--channel %s: %w", text, err)
		}
		i := slices.IndexFunc(request.InputDataConfig, func(o types.Channel) bool {
			return aws.ToString(o.ChannelName) == *channel.ChannelName
		})
		if i < 0 {
			request.InputDataConfig = append(request.InputDataConfig, channel)
		} else {
			request.InputDataConfig[i] = channel
		}
	}
	return nil
}

func over(below, above map[string]string) map[string]string {
	if len(above) == 0 {
		return below
	}
	all := maps.Clone(below)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, above)
	return all
}

// complete puts in what the service demands and a job here can do without.
func complete(request *sagemaker.CreateTrainingJobInput) {
	if request.AlgorithmSpecification.TrainingInputMode == "" {
		request.AlgorithmSpecification.TrainingInputMode = types.TrainingInputModeFile
	}
	if request.TrainingJobName == nil {
		request.TrainingJobName = aws.String(newName(aws.ToString(request.AlgorithmSpecification.TrainingImage)))
	}
	if request.RoleArn == nil {
		request.RoleArn = aws.String("arn:aws:iam::000000000000:role/local")
	}
	if r := request.ResourceConfig; len(r.InstanceGroups) == 0 {
		if r.InstanceType == "" {
			r.InstanceType = types.TrainingInstanceTypeMlM5Large
		}
		if r.InstanceCount == nil {
			r.InstanceCount = aws.Int32(1)
		}
	}
	if request.ResourceConfig.VolumeSizeInGB == nil {
		request.ResourceConfig.VolumeSizeInGB = aws.Int32(1)
	}
	if request.StoppingCondition == nil {
		request.StoppingCondition = new(types.StoppingCondition)
	}
}

// notInNames can't be in a job's name.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// newName returns a job name of the image's and the time.
func newName(image string) string {
	name := strings.Trim(notInNames.ReplaceAllString(builtin.Name(image), "-"), "-")
	name = strings.TrimRight(name[:min(len(name), 40)], "-")
	return cmp.Or(name, "job") + time.Now().UTC().Format("-20060102-150405")
}
