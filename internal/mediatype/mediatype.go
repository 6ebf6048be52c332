// Package mediatype knows the names that data formats go by.
package mediatype

// The canonical names.
const (
	RecordProtobuf = "application/x-recordio-protobuf"
	RecordIO       = "application/x-recordio" // frames whose records are bytes
	CSV            = "text/csv"
	LibSVM         = "text/libsvm"
	JSONLines      = "application/jsonlines"
)

// Aliases are other names of the same formats, in lower case, as AWS's documentation, its loaders
// and other tools have them.
var Aliases = map[string]string{
	"application/x-labeled-vector-protobuf": RecordProtobuf,
	"protobuf":                              RecordProtobuf,
	"text/x-libsvm":                         LibSVM,
	"application/x-jsonlines":               JSONLines,
	"application/jsonl":                     JSONLines,
	"application/json-lines":                JSONLines,
	"application/x-ndjson":                  JSONLines,
}

// Canonical returns the canonical name of a media type in lower case, or the name itself where it
// has none.
func Canonical(name string) string {
	if canonical, ok := Aliases[name]; ok {
		return canonical
	}
	return name
}
