package platform

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A trainer that was left behind may still listen on its address.
func TestAnAttemptHasNoAddressOfTheOneBefore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the hosts have ports")
	}
	members := new(Job).members()
	for range 500_000 { // some eight of which would meet by chance
		before := members[0].address
		if err := assignAddresses(members); err != nil || members[0].address == before {
			require.NoError(t, err)
			require.NotEqual(t, before, members[0].address)
		}
	}
}
