//go:build !linux && !darwin

package filemode

// bootID names the run of the system since it last started; "" if it has no name.
func bootID() string { return "" }
