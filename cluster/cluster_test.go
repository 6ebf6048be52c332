package cluster_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
)

func TestTheZeroClusterIsOneHost(t *testing.T) {
	var c cluster.Cluster
	require.Equal(t, 1, c.Size())
	require.True(t, c.Leader())
	sums := []float64{1, 2}
	require.NoError(t, c.AllReduce(t.Context(), sums))
	require.Equal(t, []float64{1, 2}, sums)
}

func TestRankIsThePlaceInTheListAsGiven(t *testing.T) {
	hosts := []string{"algo-1", "algo-10", "algo-2"}
	c, err := cluster.New(cluster.Config{CurrentHost: "algo-2", Hosts: hosts}, cluster.Options{})
	require.NoError(t, err)
	require.Equal(t, 2, c.Rank())
	require.Equal(t, 3, c.Size())
	require.False(t, c.Leader())
	c.Close()

	_, err = cluster.New(cluster.Config{CurrentHost: "algo-7", Hosts: hosts}, cluster.Options{})
	require.EqualError(t, err, `cluster: current host "algo-7" is not among the hosts ["algo-1" "algo-10" "algo-2"]`)
}

func TestResourceConfigsOfAllAgesAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"2018":            `{"current_host":"algo-1","hosts":["algo-1"],"network_interface_name":"ethwe"}`,
		"today":           `{"current_group_name":"g","current_host":"algo-1","hosts":["algo-1"],"topology":null}`,
		"other spelling":  `{"current_instance_group":"g","current_host":"algo-1","hosts":["algo-1"]}`,
		"unknown field":   `{"current_group_name":"g","current_host":"algo-1","hosts":["algo-1"],"new":{"x":[1]}}`,
		"both spellings":  `{"current_group_name":"g","current_instance_group":"h","current_host":"algo-1","hosts":["algo-1"]}`,
		"instance groups": `{"current_group_name":"g","current_host":"algo-1","hosts":["algo-1"],"instance_groups":[{"instance_group_name":"g","instance_type":"ml.m5.large","hosts":["algo-1"]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var c cluster.Config
			require.NoError(t, json.Unmarshal([]byte(text), &c))
			require.Equal(t, "algo-1", c.CurrentHost)
			require.Equal(t, []string{"algo-1"}, c.Hosts)
			if name != "2018" {
				require.Equal(t, "g", c.CurrentGroupName)
			}
		})
	}
}
