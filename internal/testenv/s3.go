package testenv

import (
	"os"
	"testing"
)

// S3 returns the endpoint of an S3 server that is not ours, which ALGOSPEC_S3_ENDPOINT names, or ""
// for s3test. The AWS environment variables hold the keys; .ci/s3-server sets them all. Its absence
// skips nothing; ALGOSPEC_REQUIRE calls it "s3".
func S3(tb testing.TB) string {
	tb.Helper()
	endpoint := os.Getenv("ALGOSPEC_S3_ENDPOINT")
	if endpoint == "" && required("s3") {
		tb.Fatal("ALGOSPEC_S3_ENDPOINT is not set, and ALGOSPEC_REQUIRE asks for it")
	}
	return endpoint
}
