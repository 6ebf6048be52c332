module github.com/algospec/algospec/bench

go 1.26.0

require github.com/algospec/algospec v0.0.0

require google.golang.org/protobuf v1.36.12 // indirect

replace github.com/algospec/algospec => ../
