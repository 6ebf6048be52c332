// Package recordpb is the generated message aialgs.data.Record, the payload of
// RecordIO-protobuf. To generate it again, protoc is needed besides Go.
package recordpb

//go:generate sh -c "cd ../.. && protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --go_out=. --go_opt=paths=source_relative recordio/recordpb/record.proto"
