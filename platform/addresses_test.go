package platform

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A trainer that was left behind may still listen on its address.
func TestAnAttemptHasNoAddressOfTheOneBefore(t *testing.T) {
	for _, network := range []int{0, 7, networks - 1} {
		members := []member{{address: loopbackAddress(network, 0)}, {address: loopbackAddress(network, 1)}}
		require.NotEqual(t, network, newNetwork(network, members))
		require.Less(t, newNetwork(network, members), networks)
		require.Equal(t, 100, newNetwork(100, members))
	}
}
