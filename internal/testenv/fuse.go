package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// FUSE goes on where this process can mount a FUSE file system: with /dev/fuse, as root or with
// fusermount. ALGOSPEC_REQUIRE calls it "fuse".
func FUSE(tb testing.TB) {
	tb.Helper()
	file, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		absent(tb, "fuse", "no FUSE: "+err.Error())
	}
	file.Close()
	if os.Geteuid() == 0 {
		return
	}
	helpers, _ := filepath.Glob("/*bin/fusermount*")
	more, _ := filepath.Glob("/usr/*bin/fusermount*")
	if len(helpers)+len(more) == 0 {
		absent(tb, "fuse", "no FUSE: not root, and no fusermount")
	}
}
