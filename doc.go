// Package algospec is the container side of the Amazon SageMaker training contract: an algorithm
// author writes one function, and the same binary then runs in go test over memory, on this
// machine (package platform), on SageMaker, and wherever the same files and pipes are laid out.
//
// A whole training container, which learns the mean of each feature:
//
//	func main() { algospec.Main(train) }
//
//	func train(ctx context.Context, job *algospec.Job, p algorithms.Batching) error {
//		sums := make([]float64, p.FeatureDim+1) // the sums, then the number of rows
//		for batch, err := range algorithms.Batches(ctx, job.Channel("train"), p) {
//			if err != nil {
//				return err
//			}
//			batch.ColumnSums(sums)
//			sums[p.FeatureDim] += float64(batch.Rows())
//		}
//		if err := job.Cluster.AllReduce(ctx, sums); err != nil {
//			return err
//		}
//		floats.Scale(1/sums[p.FeatureDim], sums)
//		return job.Model.Save("mean.json", algospec.JSON(sums[:p.FeatureDim]))
//	}
//
// # The contract
//
// The platform starts the container with the argument "train" and the tree /opt/ml:
//
//	input/config/hyperparameters.json   strings; parsed into the train function's struct
//	input/config/inputdataconfig.json   the channels; Job.Channel reads one
//	input/config/resourceconfig.json    the hosts; Job.Cluster
//	input/data/<channel>_<epoch>        a named pipe per pass, or a directory <channel>
//	model/                              becomes model.tar.gz; Job.Model saves into it
//	output/data/                        becomes output.tar.gz; Job.Output
//	output/data/pictures.json           charts for the platform to draw; Job.SavePictures
//	checkpoints/                        kept across attempts; Job.Checkpoints
//	output/failure                      why the job failed; written by Main
//
// [Main] exits with 0 when train returned nil, or when the job was stopped and train returned the
// cause; with 2 when the data or the settings are at fault; else with 1. An error is at fault of
// the user's when one in its chain answers ClientError() bool with true. SIGTERM and SIGINT
// cancel the context with the cause [ErrStopped]; the platform kills 120 seconds later, and a
// second signal ends the process at once.
//
// # The end of a job
//
// A train function that is stopped has until [Job.Deadline] and returns context.Cause(ctx). What it wants
// to leave behind it saves in a function that it has given to [Job.OnStop], or with a [Job.SaveContext],
// which lasts until 20 seconds before the deadline. A process that has not come to its end a second before
// the deadline says what it is at, in the failure file too, and exits with 1.
//
//	how it ends                                    status  failure file
//	train returned nil, and there is a model       0       none
//	train returned nil, and there is none          1       AlgorithmError: …
//	an error with ClientError                      2       ClientError: …
//	another error, a panic, runtime.Goexit         1       AlgorithmError: …
//	a panic of another goroutine, a fatal error    2       AlgorithmError: the process ended abruptly…
//	os.Exit, SIGKILL                               theirs  AlgorithmError: the process ended abruptly
//	stopped, and train returned the cause          0       none
//	stopped, and a save hook failed                1       AlgorithmError: save hook 1 of 2: …
//	stopped, and at no end in time                 1       AlgorithmError: stopped, and … has not returned after …
//	a second signal                                128+n   AlgorithmError: the process ended abruptly
//
// The first failure wins: a failure file that is there stays. One that cannot be written changes no status.
//
// # Checkpoints
//
// Where the platform keeps checkpoints, [Job.Checkpoints] is a store of snapshots in Job.CheckpointDir:
// LocalPath of input/config/checkpointconfig.json, or else /opt/ml/checkpoints where that exists. What was
// saved is there after SIGKILL at any instant; algorithms.Resume joins a store to the reading of data in a
// few lines.
//
// # The environment
//
// SAGEMAKER_BASE_DIR, when set, replaces /opt/ml. ALGOSPEC_HOSTS, such as
// "algo-1=127.83.12.1,algo-2=127.83.12.2", gives the addresses of hosts that share a machine, and
// ALGOSPEC_ATTEMPT tells the attempts of a job apart. ALGOSPEC_GRACE, such as 30s, replaces the 120 seconds, and
// ALGOSPEC_CHECKPOINT_EVERY, such as 10s, the minute between snapshots. ALGOSPEC_SECRET keeps hosts out of the cluster
// that do not know it; ALGOSPEC_TLS_CERT, ALGOSPEC_TLS_KEY and ALGOSPEC_TLS_CA, PEM files, encrypt what hosts say to each
// other, and ALGOSPEC_TLS_NAME is the name in their certificates where that is not the host's.
package algospec
