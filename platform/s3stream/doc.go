// Package s3stream reads S3 objects as one ordered stream of bytes: what a
// channel in Pipe mode delivers in an epoch.
//
//	objects, err := s3stream.List(ctx, client, "s3://bucket/train/")
//	source := s3stream.NewSource(client, objects, s3stream.Options{})
//	epoch, err := source.Open(ctx, 0)
//
// The stream is the objects' bytes in the order of the list, with nothing
// between them. Behind it the list is cut into parts, ranges of large objects
// and small objects whole, and several parts are fetched at a time into a
// fixed number of blocks of memory. Blocks are handed on in order and as they
// fill, so the first bytes do not wait for the last of their part.
//
// A stream is whole or ends in an error. A body that breaks off is asked for
// again from the byte where it broke; an object that is no longer the one
// listed ends the stream with an [ObjectError].
package s3stream
