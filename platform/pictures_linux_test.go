package platform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

// What a job describes is in its Result, whichever host wrote it; what is no description harms nobody.
func TestPicturesOfAJob(t *testing.T) {
	const good = `[{"Name": "a", "Lines": [{"Y": [1, 2]}]}]`
	want := []algospec.Picture{{Name: "a", Lines: []algospec.Series{{Y: []float64{1, 2}}}}}
	for name, c := range map[string]struct {
		script string
		want   []algospec.Picture
		err    string
	}{
		"none":              {`true`, nil, ""},
		"one":               {`echo '` + good + `' > pictures.json`, want, ""},
		"of the last host":  {`case $PWD in */algo-2/*) echo '` + good + `' > pictures.json; esac`, want, ""},
		"of a failed job":   {`echo '` + good + `' > pictures.json; exit 1`, want, ""},
		"text":              {`echo hello > pictures.json`, nil, "pictures.json: invalid character 'h'"},
		"a directory":       {`mkdir pictures.json`, nil, "not a regular file"},
		"a FIFO":            {`mkfifo pictures.json`, nil, "not a regular file"},
		"a link that leads": {`echo '` + good + `' > ../x; ln -s ../x pictures.json`, nil, "escapes"},
		"endless":           {`head -c 5000000 /dev/zero > pictures.json`, nil, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			job := newJob(t, newServer(t))
			job.Trainer, job.Channels, job.InstanceCount = nil, nil, 2
			job.Command = []string{"sh", "-c", `cd $SAGEMAKER_BASE_DIR/output/data; ` + c.script}
			result, err := platform.Run(t.Context(), job)
			require.Equal(t, name != "of a failed job", err == nil, "%v", err)
			require.Equal(t, c.want, result.Pictures)
			if c.err == "" {
				require.NoError(t, result.PicturesErr)
			} else {
				require.ErrorContains(t, result.PicturesErr, c.err)
			}
		})
	}
}
