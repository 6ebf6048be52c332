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
// Run lists the channels' objects, lays out the tree that the contract describes, downloads or mounts
// the channels that are files, makes a named pipe for each epoch of the others, starts the algorithm
// as a child process or a goroutine, feeds the pipes from S3, and stores what the algorithm saved as
// model.tar.gz under the documented key. Whatever happens, it leaves no pipe, mount or file behind,
// and no process of the group that it started. Section 11.1 of the container contract is the life-cycle it follows.
//
// This version has one host. Package s3test is an S3 server to go with it; s3stream streams its
// objects, filemode downloads them, and fastfile shows them as files that are fetched when they are
// read.
package platform
