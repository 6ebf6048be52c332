package records

import "strconv"

// asJSON returns the statistics as what encoding/json writes.
func (s *statistics) asJSON() any {
	return struct {
		Parts    int64                  `json:"parts"`
		Records  int64                  `json:"records"`
		Bytes    int64                  `json:"bytes"`
		Bad      int                    `json:"bad"`
		Features map[string]jsonColumns `json:"features"`
		Label    map[string]jsonColumns `json:"label"`
	}{s.parts, s.records, s.bytes, s.bad.count, s.features.asJSON(), s.label.asJSON()}
}

func (n named) asJSON() map[string]jsonColumns {
	all := map[string]jsonColumns{}
	for name, c := range n.byName {
		all[plainText(name)] = c.asJSON()
	}
	return all
}

// jsonColumns are the statistics of one name as JSON. Labels are there if there are few.
type jsonColumns struct {
	Types     map[string]int64 `json:"types"`
	Dense     int64            `json:"dense"`
	Sparse    int64            `json:"sparse"`
	MinWidth  uint64           `json:"min_width"`
	MaxWidth  uint64           `json:"max_width"`
	Untracked int64            `json:"untracked,omitempty"`
	Items     int64            `json:"items,omitempty"`
	Bytes     int64            `json:"bytes,omitempty"`
	Labels    map[string]int64 `json:"labels,omitempty"`
	Columns   []jsonColumn     `json:"columns"`
}

// jsonColumn is a column as JSON.
type jsonColumn struct {
	Count     int64 `json:"count"`
	Min       float `json:"min"`
	Max       float `json:"max"`
	Mean      float `json:"mean"`
	Deviation float `json:"deviation"`
	Zeros     float `json:"zeros"` // share
	NaN       int64 `json:"nan"`
	Infinite  int64 `json:"infinite"`
}

func (c *columns) asJSON() jsonColumns {
	j := jsonColumns{
		Types: c.kinds, Dense: c.dense, Sparse: c.sparse, MinWidth: c.minWidth, MaxWidth: c.maxWidth,
		Untracked: c.untracked, Items: c.items, Bytes: c.bytes, Columns: make([]jsonColumn, len(c.columns)),
	}
	for i := range c.columns {
		k := c.columns[i].summary()
		j.Columns[i] = jsonColumn{k.count, float(k.min), float(k.max), float(k.mean), float(k.deviation),
			float(k.zeroShare), k.nan, k.inf}
	}
	if c.values != nil && !c.values.many {
		j.Labels = map[string]int64{}
		for _, label := range c.values.sorted() {
			j.Labels[strconv.FormatFloat(label, 'g', -1, 64)] = c.values.of[labelKey(label)]
		}
	}
	return j
}
