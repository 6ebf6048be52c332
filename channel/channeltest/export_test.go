package channeltest

// WaitNot has leaks shown at once.
func WaitNot() (restore func()) {
	before := patience
	patience = 0
	return func() { patience = before }
}
