package s3stream_test

import "github.com/algospec/algospec/platform/s3stream"

// A form is a way to store bodies and to stream them. The seeds take turns.
type form struct {
	name    string
	raw     bool // the stream is what is stored, object after object: errors name its last byte
	options func(*s3stream.Options)
	store   func(body []byte) []byte               // the object of a body
	want    func(listed listing, epoch int) []byte // the stream
}

var forms = []form{{
	name:    "raw",
	raw:     true,
	options: func(*s3stream.Options) {},
	store:   func(body []byte) []byte { return body },
	want:    concatenation,
}}

// concatenation is the bodies in the order of the list.
func concatenation(listed listing, _ int) []byte {
	var all []byte
	for _, o := range listed.objects {
		all = append(all, listed.bodies[o.Key]...)
	}
	return all
}
