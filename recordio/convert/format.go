package convert

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/algospec/algospec/internal/mediatype"
)

// A Format is a format of tables, named by its content type.
type Format string

// The formats.
const (
	RecordIO  Format = mediatype.RecordProtobuf
	CSV       Format = mediatype.CSV
	LibSVM    Format = mediatype.LibSVM
	JSONLines Format = mediatype.JSONLines
	NPY       Format = "application/x-npy" // one array of NumPy
	NPZ       Format = "application/x-npz" // arrays of NumPy, or one sparse matrix of SciPy
)

// Formats are all formats.
var Formats = []Format{RecordIO, CSV, LibSVM, JSONLines, NPY, NPZ}

var byExtension = map[string]Format{
	".pbr": RecordIO, ".recordio": RecordIO,
	".csv":    CSV,
	".libsvm": LibSVM, ".svm": LibSVM, ".svmlight": LibSVM,
	".jsonl": JSONLines, ".jsonlines": JSONLines, ".ndjson": JSONLines,
	".npy": NPY,
	".npz": NPZ,
}

// ByPath returns the format that the extension of a file's or an object's name stands for. A last
// extension of .gz does not count.
func ByPath(name string) (Format, error) {
	bare := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	bare = strings.TrimSuffix(bare, ".gz")
	if format, ok := byExtension[path.Ext(bare)]; ok {
		return format, nil
	}
	return "", fmt.Errorf("%q: the extension names no known format", name)
}

// ByContentType returns the format that a content type names, and the options that its parameters
// stand for. As in the contract of the built-in algorithms, text/csv alone means label_size=1.
// Parameters that are not known are ignored.
func ByContentType(contentType string) (Format, ReadOptions, error) {
	kind, parameters, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	format := Format(mediatype.Canonical(kind))
	if !slices.Contains(Formats, format) {
		return "", ReadOptions{}, fmt.Errorf("content type %q is not supported", contentType)
	}
	var opts ReadOptions
	if format == CSV {
		opts.LabelSize = 1
	}
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "label_size") {
			continue
		}
		size, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
		if err != nil || size < 0 {
			return "", ReadOptions{}, fmt.Errorf("content type %q: label_size is not a whole number from 0", contentType)
		}
		opts.LabelSize = size
	}
	return format, opts, nil
}
