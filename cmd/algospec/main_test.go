package main

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/algospec/algospec/platform/s3test"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "container" { // of a job that a test runs under the test binary's own name
		main()
	}
	testscript.Main(m, map[string]func(){"algospec": main, "fixture": fixture, "status": status, "platform": client})
}

// The scripts run the real command. Each has an S3 server of its own, which the environment names
// as it does for the AWS SDK; "s3put FILE BUCKET/KEY" and "s3get BUCKET/KEY FILE" reach it directly,
// and "s3fault KIND BUCKET/KEY" has it fail.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "", // rewrites what cmp expects
		Setup: func(env *testscript.Env) error {
			server := s3test.New()
			env.Defer(func() { server.Close() })
			env.Values["s3"] = server
			env.Vars = append(env.Vars,
				"AWS_ENDPOINT_URL="+server.URL, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
				"AWS_EC2_METADATA_DISABLED=true", "GORACE=atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"s3put": s3put, "s3get": s3get, "s3fault": s3fault},
	})
}

func s3put(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: s3put FILE BUCKET/KEY")
	}
	bucket, key, _ := strings.Cut(args[1], "/")
	server := ts.Value("s3").(*s3test.Server)
	ts.Check(server.Put(bucket, key, strings.NewReader(ts.ReadFile(args[0]))))
}

func s3get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: s3get BUCKET/KEY FILE")
	}
	bucket, key, _ := strings.Cut(args[0], "/")
	body, err := get(ts.Value("s3").(*s3test.Server), bucket, key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o644))
}

// s3fault has the server fail when it is asked for an object: "cut" breaks off its first answer after
// 5 bytes, "refuse" lets nobody have it, "none" ends that.
func s3fault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: s3fault cut|refuse|none BUCKET/KEY")
	}
	var asked atomic.Int64
	ts.Value("s3").(*s3test.Server).SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method != http.MethodGet || r.URL.Path != "/"+args[1] {
			return nil
		}
		switch first := asked.Add(1) == 1; {
		case args[0] == "cut" && first:
			return &s3test.Fault{At: 5, Cut: true}
		case args[0] == "refuse":
			return &s3test.Fault{Status: http.StatusForbidden, Code: "AccessDenied"}
		}
		return nil
	})
}
