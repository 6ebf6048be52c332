// The links program is an algorithm that puts links in the places of directories that the platform reads.
package main

import (
	"os"
	"time"
)

func main() {
	for link, target := range map[string]string{
		"/opt/ml/model": "SECRET", "/opt/ml/checkpoints": "SECRET", "/opt/ml/output/data": "SECRET", "/opt/ml/output/failure": "SECRET/file",
	} {
		if dir := os.Getenv("SECRET"); dir != "" {
			os.RemoveAll(link)
			if err := os.Symlink(dir+target[len("SECRET"):], link); err != nil {
				panic(err)
			}
		}
	}
	time.Sleep(500 * time.Millisecond) // for the platform to look at the checkpoints
	os.Exit(len(os.Getenv("FAIL")))
}
