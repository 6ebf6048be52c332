package fastfile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/platform/fastfile"
)

// childTask is set where the test binary plays another process, with the
// task's name and its arguments, one on each line.
const childTask = "FASTFILE_TEST_CHILD"

// tasks are what another process can be told to do.
var tasks = map[string]func(args []string) error{"mount": childMount}

func child(task string) int {
	args := strings.Split(task, "\n")
	if err := tasks[args[0]](args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

// childMount mounts an empty directory and waits to be killed.
func childMount(args []string) error {
	if _, err := fastfile.Mount(context.Background(), args[0], s3.New(s3.Options{}), nil, fastfile.Options{}); err != nil {
		return err
	}
	fmt.Println("mounted")
	return waitForEnd()
}

func waitForEnd() error {
	_, err := new(bytes.Buffer).ReadFrom(os.Stdin)
	return err
}
