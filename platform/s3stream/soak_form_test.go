package s3stream_test

import (
	"bytes"
	"compress/gzip"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/recordio"
)

// A form is a way to store bodies and to stream them. The seeds take turns.
type form struct {
	name    string
	raw     bool // the stream is what is stored, object after object: errors name its last byte
	options func(*s3stream.Options)
	store   func(body []byte) []byte               // the object of a body
	want    func(listed listing, epoch int) []byte // the stream
}

var soakShuffle = &s3stream.Shuffle{Seed: 7, Channel: "train"}

var forms = []form{
	{
		name:    "raw",
		raw:     true,
		options: func(*s3stream.Options) {},
		store:   asItIs,
		want:    concatenation,
	},
	{
		name:    "gzip",
		options: func(o *s3stream.Options) { o.Gzip = true },
		store:   gzipMembers,
		want:    concatenation,
	},
	{
		name:    "records",
		options: func(o *s3stream.Options) { o.RecordIO, o.MaxRecord = true, 10_000 },
		store:   asItIs,
		want:    records,
	},
	{
		name: "records of gzip, shuffled, of a shard",
		options: func(o *s3stream.Options) {
			o.Gzip, o.RecordIO, o.MaxRecord, o.Shuffle = true, true, 10_000, soakShuffle
			o.Shard = s3stream.Shard{Index: 1, Count: 3}
		},
		store: gzipMembers,
		want: func(listed listing, epoch int) []byte {
			mine := listing{bodies: listed.bodies}
			for i, unit := range soakShuffle.Order(len(listed.objects), epoch) {
				if i%3 == 1 {
					mine.objects = append(mine.objects, listed.objects[unit])
				}
			}
			return records(mine, epoch)
		},
	},
}

func asItIs(body []byte) []byte { return body }

// gzipMembers compresses a body as two members.
func gzipMembers(body []byte) []byte {
	var b bytes.Buffer
	for _, half := range [][]byte{body[:len(body)/2], body[len(body)/2:]} {
		w := gzip.NewWriter(&b)
		w.Write(half)
		w.Close()
	}
	return b.Bytes()
}

// records is each body as a record.
func records(listed listing, _ int) []byte {
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	w.MaxPart = 10_000
	for _, o := range listed.objects {
		w.Write(listed.bodies[o.Key])
	}
	w.Flush()
	return b.Bytes()
}

// concatenation is the bodies in the order of the list.
func concatenation(listed listing, _ int) []byte {
	var all []byte
	for _, o := range listed.objects {
		all = append(all, listed.bodies[o.Key]...)
	}
	return all
}
