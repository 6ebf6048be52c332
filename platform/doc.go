// Package platform plays the other side of the container contract on one machine: it runs a whole
// training job, so that an algorithm is tested against what it will meet without AWS.
//
//	result, err := platform.Run(ctx, platform.Job{
//		Name:            "pca-1",
//		Command:         []string{"./pca"}, // or Trainer: algospec.Bind(train)
//		HyperParameters: hyperparams.Map{"feature_dim": "50", …},
//		Channels:        []platform.Channel{{Name: "train", S3URI: "s3://data/train/"}},
//		OutputPath:      "s3://data/models",
//		S3:              client,
//	})
//
// A job has one host or many, in instance groups or not. All start the same algorithm: as a process of
// this machine, as a container of podman or docker, or as a goroutine. Run lists the channels' objects,
// lays out the tree that the contract describes for each host, restores checkpoints, downloads or mounts
// the channels that are files, makes a named pipe for each epoch of the others, starts the algorithm,
// feeds the pipes from S3, copies checkpoints to S3 as they change, and stores what the algorithm saved
// as model.tar.gz under the documented key. Start does the same and returns at once, with a handle to
// stop the job or take its instances away. Whatever happens, nothing is left behind: no process, container,
// mount, pipe or directory; after a platform that was killed, Sweep sees to that. Section 11.1 of the
// container contract is the life-cycle it follows.
//
// Hosts that are processes share this machine's network. Each has a loopback address of its own
// (Linux), which its name resolves to where the platform may make mount namespaces (as root), and which
// ALGOSPEC_HOSTS names everywhere: a program that listens on its host's name meets no other host's port, and
// one that listens on all addresses does. They find their tree by SAGEMAKER_BASE_DIR. Containers have
// a network and /opt/ml.
//
// Package api is the training-job API on top of this one. Package s3test is an S3 server to go with it; s3stream
// streams its objects, filemode downloads them, fastfile shows them as files that are fetched when they are
// read, and checkpoints keeps a directory and a prefix alike.
package platform
