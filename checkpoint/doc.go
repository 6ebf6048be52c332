// Package checkpoint keeps snapshots of a training run in a directory, so that the run goes on after
// whatever ends it: a spot interruption, SIGKILL, a full disk, a crash of the machine.
//
//	store := checkpoint.NewStore("/opt/ml/checkpoints", checkpoint.Options{
//		Host: job.Host, Cluster: &job.Cluster, HyperParameters: job.HyperParameters,
//	})
//	defer store.Close()
//	from, err := store.Restore(ctx, model) // ErrNone: this is the beginning
//	…
//	saver := store.Saver(checkpoint.SaverOptions{Every: time.Minute})
//	for step := from.Step + 1; …; step++ {
//		…
//		err := saver.Offer(ctx, step, func() (checkpoint.Snapshot, io.WriterTo) {
//			return checkpoint.Snapshot{Positions: positions}, buffer.Copy(model)
//		})
//	}
//
// A snapshot is one file, because the service copies a directory file by file (container contract,
// 1.8), and it proves itself, because anything may have happened to it since: one that is cut short,
// has a bit wrong, or was saved by a newer program is never restored; the next older one is. It is written as
// <name>.sagemaker-ignore, synced, renamed, and the directory synced: what Save has reported saved is there
// after the machine crashes, and what it has not is there whole or not at all. The newest few are
// kept ([Options].Keep), in the order in which they were saved, whatever their steps are.
//
// All hosts of a job may share a directory, or a prefix of S3: the names of their files differ,
//
//	step-000000001200.algo-1.8d5b2a01.ckpt
//
// and so do those of jobs with other hyperparameters, of which the last part is a hash. A store
// deletes only what has its own host and hash. Two processes that are the same host in the same directory would
// prune each other's snapshots: the second gets ErrLocked when it saves. It is the machine that knows
// the lock; processes on several machines need different directories, or different hosts.
//
// Several hosts restore the same step ([Store.LastCommon]). A state that is the same on all of them is best saved
// by one ([Options].LeaderOnly); it can be restored by any number of hosts.
package checkpoint
