// Package recordio reads and writes RecordIO-protobuf, the data format of SageMaker's built-in
// algorithms: frames ([Reader], [Writer]) that hold aialgs.data.Record messages.
//
// A frame is a magic number, a length, a payload and padding to four bytes; a file, an object or
// a pipe is any number of frames, with no header and no checksum. [Reader] yields the payloads:
//
//	records := recordio.NewReader(epoch)
//	for payload, err := range records.All() {
//		if err != nil {
//			return err // names the record and the byte
//		}
//		…
//	}
//
// A payload can be anything. Where it is a Record, there are two ways to read it: [RowDecoder]
// walks the wire form of numeric rows straight into a []float32, and package recordpb has the
// generated message for who wants every field. The two agree on every input.
//
// The frames are section 5.1 and 5.2 of the container contract, the message is 5.3.
package recordio
