// Package s3stream reads S3 objects as one ordered stream of bytes: what a
// channel in Pipe mode delivers in an epoch.
//
//	objects, err := s3stream.List(ctx, client, "s3://bucket/train/")
//	source := s3stream.NewSource(client, objects, s3stream.Options{})
//	epoch, err := source.Open(ctx, 0)
//
// A [Source] is a channel.Source, so that an algorithm can read S3 with no pipe
// between. What it streams is a [Listing]: the objects of a prefix ([List]) or
// of a manifest ([ReadManifest]), or what the lines of an augmented manifest
// name ([ReadAugmented]); the part of it that is one host's ([Shard]), mixed
// anew for each epoch if need be ([Shuffle]). Objects come as they are, with
// nothing between them, or decompressed, as RecordIO records, or as lines
// (see [Options]).
//
// Behind the stream the list is cut into parts, ranges of large objects and
// small objects whole. Several are fetched at a time into a bounded number of
// blocks of memory, which are delivered in order as they fill. How many parts,
// and how large, follows from what is measured: the wait for the first byte of
// an answer, the bytes per second after it, and whether the reader waits.
//
// A stream is whole or ends in an error. An answer that fails, breaks off,
// stalls or is far slower than others is asked for again from the byte where it
// stood, under the condition that the object is still the one that was listed;
// what cannot be healed ends the stream with an [ObjectError]. Checksums are
// verified where S3 has one of the whole object, whether it comes in one answer,
// in ranges, for which the checksum is asked for, or in several tries.
//
// WriteTo into a pipe has the kernel move bytes from the socket to the
// pipe where it can (see [Spliceable]).
package s3stream
