package testenv

import (
	"os/exec"
	"testing"
)

// Chromium returns the program that is Chromium or Chrome. ALGOSPEC_REQUIRE calls it "chromium".
func Chromium(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	absent(tb, "chromium", "no Chromium: chromium, chromium-browser and google-chrome are not in PATH")
	return ""
}
