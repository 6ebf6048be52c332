package cluster

import "encoding/json"

// Config is resourceconfig.json (container contract, 1.3.3). Fields that are not listed are
// ignored, and older jobs lack all but the first three.
type Config struct {
	CurrentHost          string          `json:"current_host"`
	Hosts                []string        `json:"hosts"` // the same on all hosts; the first one leads
	NetworkInterfaceName string          `json:"network_interface_name,omitempty"`
	CurrentInstanceType  string          `json:"current_instance_type,omitempty"`
	CurrentGroupName     string          `json:"current_group_name,omitempty"`
	InstanceGroups       []InstanceGroup `json:"instance_groups,omitempty"`
}

// An InstanceGroup is the hosts of one type in a heterogeneous cluster.
type InstanceGroup struct {
	Name         string   `json:"instance_group_name"`
	InstanceType string   `json:"instance_type"`
	Hosts        []string `json:"hosts"`
}

// UnmarshalJSON also takes current_instance_group, the other spelling of current_group_name.
func (c *Config) UnmarshalJSON(text []byte) error {
	type plain Config
	both := struct {
		*plain
		Other string `json:"current_instance_group"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(text, &both); err != nil {
		return err
	}
	if c.CurrentGroupName == "" {
		c.CurrentGroupName = both.Other
	}
	return nil
}
