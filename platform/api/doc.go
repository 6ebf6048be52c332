// Package api is the training-job API of SageMaker on this machine: CreateTrainingJob and its
// family over HTTP, as boto3, the AWS CLI and the SageMaker Python SDK speak it.
//
//	service, err := api.Open(api.Options{Dir: "jobs", S3: client, Resolve: resolve})
//	...
//	listener, err := service.Listen("127.0.0.1:8090", false)
//	...
//	http.Serve(listener, service.Handler())
//
// Requests and answers are the SDK's own types. What the service's model says of their members is enforced with the
// service's messages, and so are the rules between members that its documents state. Each job
// runs through package platform; its record is kept in an embedded database, its log and its metrics in files, so that
// all are there after a restart. CloudWatch Logs and STS answer on the same port, as far as a client of
// training jobs needs them.
//
// Members that mean something on AWS only, such as VpcConfig, are checked, kept and told by DescribeTrainingJob, and
// have no effect. Serverless jobs and hub data sets are refused.
package api
