package channel

import (
	"regexp"
	"strings"
)

var name = regexp.MustCompile(`^[A-Za-z0-9.\-_]{1,64}$`)

// ValidName reports whether a channel can have the name: 1 to 64 letters, digits, '.', '-' and '_'
// (CreateTrainingJob, ChannelName), and not only dots, which would leave the data directory.
func ValidName(s string) bool { return name.MatchString(s) && strings.Trim(s, ".") != "" }
