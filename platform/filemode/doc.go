// Package filemode puts a channel's data into a directory before the algorithm
// starts: what a channel in File mode is.
//
//	objects, err := s3stream.ListTree(ctx, client, "s3://bucket/train/")
//	files, err := s3stream.Layout("s3://bucket/train/", objects)
//	err = filemode.Download(ctx, client, "/opt/ml/input/data/train", files, filemode.Options{})
//
// [Download] copies objects of S3, several at a time and large ones in ranges. A
// file has its name only once it is whole. A download that was killed goes on
// where it stood when it is started again; see there for what that rests on.
//
// [Link] puts a directory of a file system in the channel's place, as a
// FileSystemDataSource does.
package filemode
