package serve

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/algospec/algospec/cmd/algospec/internal/home"
)

// environment is what leads AWS clients to the platform, and nowhere else.
func environment(endpoint, region string, s *storage, credentials map[string]string, dir string) (home.Environment, error) {
	var e home.Environment
	set := func(name, value string) { e = append(e, home.Variable{Name: name, Value: value}) }
	for _, service := range []string{"SAGEMAKER", "CLOUDWATCH_LOGS", "STS"} {
		set("AWS_ENDPOINT_URL_"+service, endpoint)
	}
	if s.endpoint != "" {
		set("AWS_ENDPOINT_URL_S3", s.endpoint)
	}
	set("AWS_REGION", region)
	set("AWS_DEFAULT_REGION", region)
	if s.server != nil { // otherwise S3 has credentials of its own, which the client has already
		key, secret := oneOf(credentials)
		set("AWS_ACCESS_KEY_ID", key)
		set("AWS_SECRET_ACCESS_KEY", secret)
	}
	set("AWS_EC2_METADATA_DISABLED", "true")
	path, err := writeSDKConfig(dir, s.bucket)
	set("SAGEMAKER_USER_CONFIG_OVERRIDE", path)
	if proxied() {
		none := strings.Trim(cmp.Or(os.Getenv("no_proxy"), os.Getenv("NO_PROXY"))+",127.0.0.1,localhost", ",")
		set("NO_PROXY", none)
		set("no_proxy", none)
	}
	return e, err
}

// oneOf returns the credentials that clients here are told of: the first, or any where all are let in.
func oneOf(credentials map[string]string) (key, secret string) {
	for _, key := range slices.Sorted(maps.Keys(credentials)) {
		return key, credentials[key]
	}
	return "local", "local"
}

// proxied reports whether Python's clients would ask a proxy for what is on this machine.
func proxied() bool {
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// writeSDKConfig writes the SageMaker Python SDK's configuration file. Without one, the SDK asks STS by an
// endpoint that no variable changes for the name of a default bucket, and reports each call to AWS.
func writeSDKConfig(dir, bucket string) (string, error) {
	text := "SchemaVersion: '1.0'\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n"
	if bucket != "" {
		text += fmt.Sprintf("      Session:\n        DefaultS3Bucket: %s\n", bucket)
	}
	path := filepath.Join(dir, "sagemaker.yaml")
	return path, os.WriteFile(path, []byte(text), 0o644)
}
