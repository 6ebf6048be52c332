//go:build !race

package testenv

// Race says that the race detector is on, under which numerical work takes ten times as long and more.
const Race = false
