package api

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/algospec/algospec/platform"
)

// logGroup is where the logs of training jobs are (container contract, 4.7).
const logGroup = "/aws/sagemaker/TrainingJobs"

// The limits of GetLogEvents.
const (
	mostEvents = 10_000
	maxEvents  = 1 << 20 // bytes
)

func badParameter(format string, args ...any) error {
	return clientError("InvalidParameterException", format, args...)
}

// group checks which log group a request is for.
func (s *Service) group(name, identifier *string) error {
	asked := aws.ToString(cmp.Or(name, identifier))
	if strings.HasPrefix(asked, "arn:") {
		asked = strings.TrimPrefix(asked, s.logsARN(""))
	}
	if asked == "" {
		return badParameter("A log group must be given.")
	}
	if asked != logGroup {
		return clientError("ResourceNotFoundException", "The specified log group does not exist.")
	}
	return nil
}

func (s *Service) logsARN(group string) string {
	return fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s", s.opts.region(), s.opts.account(), group)
}

// limitOf is how many elements a request asks for.
func limitOf(limit *int32, standard int) (int, error) {
	n := int(aws.ToInt32(cmp.Or(limit, aws.Int32(int32(standard)))))
	if n < 1 || n > standard {
		return 0, badParameter("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and %d", n, standard)
	}
	return n, nil
}

// describeLogGroups tells of the one log group.
func (s *Service) describeLogGroups(_ context.Context, in *logs.DescribeLogGroupsInput) (*logs.DescribeLogGroupsOutput, error) {
	out := &logs.DescribeLogGroupsOutput{LogGroups: []types.LogGroup{}}
	if strings.HasPrefix(logGroup, aws.ToString(in.LogGroupNamePrefix)) && strings.Contains(logGroup, aws.ToString(in.LogGroupNamePattern)) {
		out.LogGroups = append(out.LogGroups, types.LogGroup{
			LogGroupName: aws.String(logGroup), Arn: aws.String(s.logsARN(logGroup) + ":*"), LogGroupArn: aws.String(s.logsARN(logGroup)),
		})
	}
	return out, nil
}

// describeLogStreams returns a page of streams. A job's name and a slash before anything else is what
// clients ask with; without one, the streams of all jobs are looked through.
func (s *Service) describeLogStreams(_ context.Context, in *logs.DescribeLogStreamsInput) (*logs.DescribeLogStreamsOutput, error) {
	if err := s.group(in.LogGroupName, in.LogGroupIdentifier); err != nil {
		return nil, err
	}
	if in.OrderBy == types.OrderByLastEventTime && in.LogStreamNamePrefix != nil {
		return nil, badParameter("Cannot order by LastEventTime with a logStreamNamePrefix.")
	}
	limit, err := limitOf(in.Limit, 50)
	if err != nil {
		return nil, err
	}
	names, err := s.streamNames(aws.ToString(in.LogStreamNamePrefix))
	if err != nil {
		return nil, internal("DescribeLogStreams", err)
	}
	all, err := s.lines.summaries(names)
	if err != nil {
		return nil, internal("DescribeLogStreams", err)
	}
	order := func(l LogStream) place { return place{Name: l.Name} }
	if in.OrderBy == types.OrderByLastEventTime {
		order = func(l LogStream) place { return place{Key: l.Last.UTC().Format(sortableTime), Name: l.Name} }
	}
	page, next, err := cut(all, order, aws.ToBool(in.Descending), in.NextToken, aws.Int32(int32(limit)))
	if err != nil {
		return nil, badParameter("The specified nextToken is invalid.")
	}
	out := &logs.DescribeLogStreamsOutput{LogStreams: []types.LogStream{}, NextToken: next}
	for _, l := range page {
		out.LogStreams = append(out.LogStreams, s.logStream(l))
	}
	return out, nil
}

func (s *Service) logStream(l LogStream) types.LogStream {
	_, second, _ := cutLast(l.Name, "-")
	created, _ := strconv.ParseInt(second, 10, 64)
	stream := types.LogStream{
		LogStreamName: aws.String(l.Name), Arn: aws.String(s.logsARN(logGroup) + ":log-stream:" + l.Name),
		CreationTime: aws.Int64(created * 1000),
	}
	if l.Lines > 0 {
		stream.FirstEventTimestamp, stream.LastEventTimestamp = aws.Int64(l.First.UnixMilli()), aws.Int64(l.Last.UnixMilli())
		stream.LastIngestionTime = stream.LastEventTimestamp
	}
	return stream
}

// streamNames returns the names of the streams that begin with prefix.
func (s *Service) streamNames(prefix string) ([]string, error) {
	job, _, whole := strings.Cut(prefix, "/")
	s.mu.Lock()
	var jobs []string
	if whole {
		if j := s.jobs[job]; j != nil {
			jobs = []string{job}
		}
	} else {
		for name := range s.jobs {
			if strings.HasPrefix(name, job) {
				jobs = append(jobs, name)
			}
		}
	}
	s.mu.Unlock()
	var all []string
	for _, job := range jobs {
		names, err := s.lines.names(job)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				all = append(all, name)
			}
		}
	}
	return all, nil
}

// A window is the part of a stream that a request looks at: the lines of a time, by number.
type window struct{ from, to int64 }

func (s *stream) window(start, end *int64) (w window, err error) {
	w.to = s.lines
	if start != nil {
		if w.from, err = s.since(*start); err != nil {
			return w, err
		}
	}
	if end != nil {
		if w.to, err = s.since(*end); err != nil {
			return w, err
		}
	}
	w.to = max(w.from, w.to)
	return w, nil
}

// getLogEvents returns a page of a stream's lines. Its tokens hold the number of the line after the page and of the first
// one on it; at either end they are the ones that were given, which is how clients see the end.
func (s *Service) getLogEvents(_ context.Context, in *logs.GetLogEventsInput) (*logs.GetLogEventsOutput, error) {
	if err := s.group(in.LogGroupName, in.LogGroupIdentifier); err != nil {
		return nil, err
	}
	limit, err := limitOf(in.Limit, mostEvents)
	if err != nil {
		return nil, err
	}
	var out *logs.GetLogEventsOutput
	found, err := s.lines.with(aws.ToString(in.LogStreamName), func(stream *stream) error {
		out, err = stream.events(in, limit)
		return err
	})
	if !found {
		return nil, clientError("ResourceNotFoundException", "The specified log stream does not exist.")
	}
	return out, err
}

func (s *stream) events(in *logs.GetLogEventsInput, limit int) (*logs.GetLogEventsOutput, error) {
	w, err := s.window(in.StartTime, in.EndTime)
	if err != nil {
		return nil, internal("GetLogEvents", err)
	}
	from, forward := w.from, aws.ToBool(in.StartFromHead)
	if !forward {
		from = w.to
	}
	if in.NextToken != nil {
		if from, forward, err = parseLogToken(*in.NextToken); err != nil {
			return nil, err
		}
		from = min(max(from, w.from), w.to)
	}
	to := min(w.to, from+int64(limit))
	if !forward {
		from, to = max(w.from, from-int64(limit)), from
	}
	lines, err := s.read(from, int(to-from), maxEvents)
	if err != nil {
		return nil, internal("GetLogEvents", err)
	}
	if !forward && int64(len(lines)) < to-from { // too long: those nearest to the end are wanted
		if from, lines, err = s.tail(from, to); err != nil {
			return nil, internal("GetLogEvents", err)
		}
	}
	out := &logs.GetLogEventsOutput{
		Events:            []types.OutputLogEvent{},
		NextForwardToken:  logToken("f", from+int64(len(lines))),
		NextBackwardToken: logToken("b", from),
	}
	for _, line := range lines {
		at := aws.Int64(line.Time.UnixMilli())
		out.Events = append(out.Events, types.OutputLogEvent{Message: aws.String(line.Text), Timestamp: at, IngestionTime: at})
	}
	return out, nil
}

// tail returns the lines before number to that are not too many bytes together, none from before from.
func (s *stream) tail(from, to int64) (int64, []platform.Line, error) {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].Line > from }) - 1
	var lines []platform.Line
	bytes := 0
	err := s.scan(s.marks[max(i, 0)], func(number, at int64, text string, _ int64) bool {
		if number < from {
			return true
		}
		lines = append(lines, platform.Line{Host: s.host(), Time: time.UnixMilli(at).UTC(), Text: text})
		for bytes += len(text); bytes > maxEvents && len(lines) > 1; lines = lines[1:] {
			bytes -= len(lines[0].Text)
		}
		return number < to-1
	})
	return to - int64(len(lines)), lines, err
}

// logToken is a place in a stream, and in which direction to go on from it.
func logToken(direction string, line int64) *string {
	return aws.String(fmt.Sprintf("%s/%056d/s", direction, line))
}

func parseLogToken(token string) (line int64, forward bool, err error) {
	direction, rest, ok := strings.Cut(token, "/")
	number, ok2 := strings.CutSuffix(rest, "/s")
	line, err = strconv.ParseInt(number, 10, 64)
	if err != nil || !ok || !ok2 || line < 0 || (direction != "f" && direction != "b") {
		return 0, false, badParameter("The specified nextToken is invalid.")
	}
	return line, direction == "f", nil
}
