package platform

import (
	"fmt"
	"slices"

	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/platform/s3stream"
)

// A member is one of the job's hosts, as its configuration files describe it.
type member struct {
	name         string // algo-1, algo-2, …
	group        string
	instanceType string
	address      string // of a host that is no container, where there are several; see addresses
}

const (
	oneGroup      = "homogeneousCluster" // the group of hosts where none is asked for
	localInstance = "local"
)

// groups returns the instance groups, of which a job without any has one.
func (j *Job) groups() []InstanceGroup {
	groups := slices.Clone(j.InstanceGroups)
	if len(groups) == 0 {
		groups = []InstanceGroup{{Name: oneGroup, InstanceType: j.InstanceType, InstanceCount: max(1, j.InstanceCount)}}
	}
	for i := range groups {
		if groups[i].InstanceType == "" {
			groups[i].InstanceType = localInstance
		}
	}
	return groups
}

// members returns the hosts in the order of their numbers, group after group.
func (j *Job) members() []member {
	var members []member
	for _, group := range j.groups() {
		for range group.InstanceCount {
			name := fmt.Sprintf("algo-%d", len(members)+1)
			members = append(members, member{name: name, group: group.Name, instanceType: group.InstanceType})
		}
	}
	return members
}

// resources is resourceconfig.json of one of the members (container contract, 1.3.3).
func resources(members []member, current member, network string) cluster.Config {
	c := cluster.Config{
		CurrentHost: current.name, NetworkInterfaceName: network,
		CurrentInstanceType: current.instanceType, CurrentGroupName: current.group,
	}
	for _, m := range members {
		c.Hosts = append(c.Hosts, m.name)
		last := len(c.InstanceGroups) - 1
		if last < 0 || c.InstanceGroups[last].Name != m.group {
			c.InstanceGroups = append(c.InstanceGroups, cluster.InstanceGroup{Name: m.group, InstanceType: m.instanceType})
			last++
		}
		c.InstanceGroups[last].Hosts = append(c.InstanceGroups[last].Hosts, m.name)
	}
	slices.Sort(c.Hosts) // as the service has them: algo-10 before algo-2
	return c
}

// goesTo reports whether the hosts of a group get the channel.
func (c Channel) goesTo(group string) bool {
	return len(c.InstanceGroupNames) == 0 || slices.Contains(c.InstanceGroupNames, group)
}

// shard returns the part of the channel that the member gets: of a sharded one, the hosts of the
// channel's groups take turns in the order of their numbers.
func (c Channel) shard(members []member, of member) s3stream.Shard {
	if c.S3DataDistributionType != sharded {
		return s3stream.Shard{}
	}
	var shard s3stream.Shard
	for _, m := range members {
		if m == of {
			shard.Index = shard.Count
		}
		if c.goesTo(m.group) {
			shard.Count++
		}
	}
	return shard
}

// validateHosts reports what is wrong with the hosts that are asked for.
func (j *Job) validateHosts(bad func(format string, args ...any)) {
	if len(j.InstanceGroups) > 0 && (j.InstanceCount != 0 || j.InstanceType != "") {
		bad("instance groups stand instead of instance count and type")
	}
	hosts, names := 0, map[string]bool{}
	for _, g := range j.InstanceGroups {
		switch {
		case g.Name == "":
			bad("an instance group without a name")
		case names[g.Name]:
			bad("instance group %.70q: twice", g.Name)
		case g.InstanceCount < 1:
			bad("instance group %.70q: %d hosts", g.Name, g.InstanceCount)
		}
		names[g.Name] = true
		hosts += max(0, min(g.InstanceCount, maxHosts+1))
	}
	if j.InstanceCount < 0 {
		bad("%d hosts", j.InstanceCount)
	}
	if max(hosts, j.InstanceCount) > maxHosts {
		bad("more than %d hosts on one machine", maxHosts)
	}
	for _, c := range j.Channels {
		for _, name := range c.InstanceGroupNames {
			if !names[name] && (len(names) > 0 || name != oneGroup) {
				bad("channel %.70s: no instance group %.70q", c.Name, name)
			}
		}
	}
}

// maxHosts is more than one machine has use for.
const maxHosts = 100
