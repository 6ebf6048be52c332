package container

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/recordio"
)

// A real algorithm's image of one file trains over a pipe, and says what is wrong with its input.
func TestTheImageOfAnExampleTrains(t *testing.T) {
	testenv.Containers(t)
	image := testenv.Image(t, testenv.ImageSpec{
		Programs: map[string]string{"/pca": "./examples/pca"}, Changes: []string{`ENTRYPOINT ["/pca"]`},
	})
	each(t, func(t *testing.T, w *world) {
		tree := layOut(t)
		c, said := w.start(t, Spec{Image: image, Mounts: []Mount{{Source: tree, Target: "/opt/ml"}}})
		feed(t, filepath.Join(tree, "input/data/train_0"))
		require.Equal(t, End{}, wait(t, c), said.String())
		models, err := os.ReadDir(filepath.Join(tree, "model"))
		require.NoError(t, err)
		require.NotEmpty(t, models)

		require.NoError(t, os.WriteFile(filepath.Join(tree, "input/config/hyperparameters.json"), []byte("{}"), 0o644))
		end, _ := w.run(t, Spec{Image: image, Mounts: []Mount{{Source: tree, Target: "/opt/ml"}}})
		require.Equal(t, End{ExitCode: 2}, end)
		failure, err := os.ReadFile(filepath.Join(tree, "output/failure"))
		require.NoError(t, err)
		require.Contains(t, string(failure), "feature_dim")
	})
}

// layOut makes the tree of a host with one channel in Pipe mode.
func layOut(t *testing.T) string {
	tree := t.TempDir()
	for _, dir := range []string{"input/config", "input/data", "model", "output/data"} {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, dir), 0o755))
	}
	for name, text := range map[string]string{
		"hyperparameters.json": `{"feature_dim":"3","num_components":"2","mini_batch_size":"4"}`,
		"inputdataconfig.json": `{"train":{"TrainingInputMode":"Pipe","S3DistributionType":"FullyReplicated","RecordWrapperType":"None"}}`,
		"resourceconfig.json":  `{"current_host":"algo-1","hosts":["algo-1"],"network_interface_name":"eth0"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, "input/config", name), []byte(text), 0o644))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(tree, "input/data/train_0"), 0o666))
	return tree
}

// feed writes rows into a pipe, when its reader is there.
func feed(t *testing.T, pipe string) {
	file, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	require.NoError(t, err)
	w := recordio.NewWriter(file)
	for i := range 20 {
		require.NoError(t, w.WriteRow([]float32{float32(i), float32(i * i % 7), float32(i % 3)}))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, file.Close())
}
