package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"

	"github.com/algospec/algospec/platform/api"
)

// client is the command of the scripts that does what the AWS CLI would, with the platform that the environment
// names: "platform upload FILE BUCKET KEY", "platform create REQUEST".
func client() {
	settings, err := config.LoadDefaultConfig(context.Background())
	if err == nil {
		err = clientCommands[os.Args[1]](settings, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		os.Exit(1)
	}
}

var clientCommands = map[string]func(settings aws.Config, args []string) error{
	"upload": func(settings aws.Config, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		server := s3.NewFromConfig(settings, func(o *s3.Options) { o.UsePathStyle = true })
		_, err = server.PutObject(context.Background(), &s3.PutObjectInput{Bucket: aws.String(args[1]), Key: aws.String(args[2]), Body: file})
		return err
	},
	"create": func(settings aws.Config, args []string) error {
		text, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		var request sagemaker.CreateTrainingJobInput
		if err := api.Unmarshal(text, &request); err != nil {
			return err
		}
		_, err = sagemaker.NewFromConfig(settings).CreateTrainingJob(context.Background(), &request)
		return err
	},
}
