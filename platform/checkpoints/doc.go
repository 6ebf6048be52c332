// Package checkpoints keeps a directory and an S3 prefix alike while an algorithm runs, as
// CheckpointConfig asks of the platform (container contract, 1.8):
//
//	mirror, err := checkpoints.Restore(ctx, client, "s3://bucket/prefix", dir, checkpoints.Options{})
//	go mirror.Run(ctx)         // while the algorithm runs
//	err = mirror.Final(ctx)    // when it has ended
//
// [Restore] brings what S3 holds, once. From then on the directory counts: [Mirror.Run] stores files
// that are new or different and deletes objects whose files are gone. Every host has a Mirror of its
// own, of the same prefix; hosts use different names for what they write.
//
// An object is always one whole version of its file. A file that changes while it is read is not
// stored but looked at again, so that the best way to write one is to write <name>.sagemaker-ignore
// and rename it. While something is still to be stored, nothing is deleted that was there before it:
// the last good checkpoint stays until the next is in S3.
//
// The algorithm sees where its files are by markers beside them, which are never stored themselves:
// <name>.sagemaker-uploading while a file is being stored, <name>.sagemaker-uploaded when it has been.
//
// A process that is killed leaves every object whole, but may leave unfinished multipart uploads, which no
// listing of objects shows; a lifecycle rule of the bucket (AbortIncompleteMultipartUpload) removes them.
//
// Symbolic links and special files are not stored. Directories exist in S3 through their files alone.
package checkpoints
