//go:build race

package testenv

// Race tells that the race detector watches, which makes numerical tests some ten times slower.
const Race = true
