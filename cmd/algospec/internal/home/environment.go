package home

import (
	"regexp"
	"strings"
)

// An Environment is the variables that lead AWS clients to a platform, in the order of showing.
type Environment []Variable

// A Variable is one of an Environment.
type Variable struct{ Name, Value string }

// Get returns a variable's value, "" where there is none.
func (e Environment) Get(name string) string {
	for _, v := range e {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// Exports returns the commands for a shell.
func (e Environment) Exports() string {
	var text strings.Builder
	for _, v := range e {
		text.WriteString("export " + v.Name + "=" + quote(v.Value) + "\n")
	}
	return text.String()
}

// plain needs no quoting in any shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:,@%+-]+$`)

func quote(value string) string {
	if plain.MatchString(value) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// strays would have a client sign with a token that belongs to other keys.
var strays = []string{"AWS_SESSION_TOKEN=", "AWS_SECURITY_TOKEN="}

// Over returns another environment with the variables set in it.
func (e Environment) Over(environ []string) []string {
	var all []string
	for _, v := range environ {
		stray := false
		for _, s := range strays {
			stray = stray || e.Get("AWS_ACCESS_KEY_ID") != "" && strings.HasPrefix(v, s)
		}
		if !stray {
			all = append(all, v)
		}
	}
	for _, v := range e {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}
