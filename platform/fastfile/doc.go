// Package fastfile shows S3 objects as files that are fetched when they are
// read: what a channel in FastFile mode is.
//
//	fsys, err := fastfile.Mount(ctx, "/opt/ml/input/data/train", client, files, fastfile.Options{})
//	defer fsys.Close()
//	... run the container ...
//	err = fsys.Err() // what S3 did to a reader, if anything
//
// [Mount] puts the files below a directory, for any process, by FUSE, on Linux.
// [New] does without: its [FS] is an io/fs.FS for readers in this process.
// Below both lies the same cache of blocks, bounded in bytes and shared by all
// files. A block is fetched once however many readers want it, by itself where
// reads jump about. Where they follow one another, ranges ahead of the reader are
// fetched in parallel, the further ahead the longer it has gone on.
//
// The listing is given once: later objects are invisible, and the file system
// is read-only. An object that was replaced since fails its readers with EIO
// and never mixes old bytes with new. [FS.Err] keeps the first such error, for
// EIO is all that a process behind a mount gets to know.
//
// What the kernel has read it keeps in its page cache as long as it likes:
// reads from there cost nothing and are not in [Stats].
package fastfile
