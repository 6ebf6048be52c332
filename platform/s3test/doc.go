// Package s3test is an S3 server in the process: [New] starts one on a free
// loopback port, as net/http/httptest does for plain HTTP, and the real SDK,
// the AWS command line or any other client talks to it.
//
//	server := s3test.New()
//	defer server.Close()
//	err := server.Put("data", "train/part-0", strings.NewReader("1,2,3\n"))
//	client := server.Client() // an *s3.Client
//
// Objects lie on disk, one file each, and requests stream: memory grows with
// the number of keys, never with the bytes behind them, and a GET is sendfile
// from the page cache. Keys are names, not paths: "a" and "a/b", "a//b" and
// "../x" stand side by side, and listings are in UTF-8 byte order, in pages.
//
// It serves path-style requests for buckets, objects (ranges, conditions,
// copies, checksums, aws-chunked bodies), both listings and multipart uploads.
// Anything else is answered with NotImplemented. Signatures are not checked,
// there are no versions and no access control, and parts of an upload may be
// smaller than 5 MiB.
//
// [Server.SetFault] makes chosen requests fail as S3 and networks do.
//
// The server is our own because the front end of gofakes3 would need its
// disk store, its listing, its multipart uploads (held in memory), its ranged
// reads (which miss sendfile), conditions on GET and trailing checksums
// replaced, which leaves only the router.
package s3test
