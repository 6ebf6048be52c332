package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/api"
)

// write returns the path of a file with the text, beside a directory "data".
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	path := filepath.Join(dir, "platform.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestAFileSaysWhatThePlatformCannotKnow(t *testing.T) {
	path := write(t, `
images:
  trees: {command: [./bin/trees, -v], environment: {THREADS: "2"}}
  python: {command: [python3, platform.yaml, data, train.py, ""]}
fileSystems: {fs-0123: data}
credentials: {AKID: secret}
region: eu-west-1
account: "123456789012"
jobs: 2
grace: 30s
`)
	c, err := Read(path)
	require.NoError(t, err)
	dir := filepath.Dir(path)
	require.Equal(t, &Config{
		Images: map[string]Algorithm{
			"trees":  {Command: []string{filepath.Join(dir, "bin", "trees"), "-v"}, Environment: map[string]string{"THREADS": "2"}},
			"python": {Command: []string{"python3", path, "data", "train.py", ""}},
		},
		FileSystems: map[string]string{"fs-0123": filepath.Join(dir, "data")},
		Credentials: map[string]string{"AKID": "secret"},
		Region:      "eu-west-1", Account: "123456789012", Jobs: 2, Grace: 30 * time.Second,
	}, c)
}

func TestJSONIsReadToo(t *testing.T) {
	c, err := Read(write(t, `{"images": {"trees": {"image": "localhost/trees"}}, "jobs": 3}`))
	require.NoError(t, err)
	require.Equal(t, &Config{Images: map[string]Algorithm{"trees": {Image: "localhost/trees"}}, Jobs: 3}, c)
}

func TestNoFileAndAnEmptyOneAreEveryDefault(t *testing.T) {
	for _, path := range []string{"", write(t, ""), write(t, "# nothing\n")} {
		c, err := Read(path)
		require.NoError(t, err)
		require.Equal(t, &Config{}, c)
	}
}

func TestAWrongFileIsOneErrorThatSaysWhere(t *testing.T) {
	for want, text := range map[string]string{
		"line 1: field imagez not found":                            "imagez: {}\n",
		"line 2: cannot unmarshal":                                  "\njobs: many\n",
		"line 1: did not find expected":                             "images: {a\n",
		`images: "a": want one of command and image`:                "images: {a: {}}\n",
		`"b": want one of command and image`:                        "images: {b: {command: [x], image: y}}\n",
		`images: "a": command: the program has no name`:             "images: {a: {command: ['']}}\n",
		"credentials: an access key or its secret is empty":         "credentials: {a: ''}\n",
		`account: "12": want 12 digits, in quotes`:                  "account: 12\n",
		`region: "../x": want one such as us-east-1`:                "region: ../x\n",
		"jobs: -1: want at least 1":                                 "jobs: -1\n",
		"grace: -1s: negative":                                      "grace: -1s\n",
		"fileSystems: fs-1: stat":                                   "fileSystems: {fs-1: nowhere}\n",
		"platform.yaml is not a directory":                          "fileSystems: {fs-1: platform.yaml}\n",
		"more than one document":                                    "jobs: 1\n---\njobs: 2\n",
		"longer than 1048576 bytes":                                 "#" + strings.Repeat("x", 1<<20),
		"control characters are not allowed":                        "jobs: \x00\n",
		`line 1: mapping key "jobs" already defined at line 1`:      "{jobs: 1, jobs: 2}\n",
		"line 1: cannot unmarshal !!seq into map[string]string":     "images: {a: {command: [x], environment: [1]}}\n",
		"line 1: cannot unmarshal !!str `one`":                      "images: one\n",
		"line 3: cannot unmarshal !!str `b` into int; line 4: cann": "account: x\nregion: y\njobs: b\ngrace: c\n",
	} {
		t.Run(want, func(t *testing.T) {
			path := write(t, text)
			_, err := Read(path)
			require.ErrorContains(t, err, path+": ")
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "config.")
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := Read(filepath.Join(t.TempDir(), "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhatIsNamedMoreCloselyCountsFirst(t *testing.T) {
	algorithm := func(word string) Algorithm { return Algorithm{Command: []string{word}} }
	c := Config{Images: map[string]Algorithm{
		"registry:5000/team/trees:2": algorithm("tagged"),
		"registry:5000/team/trees":   algorithm("untagged"),
		"trees":                      algorithm("name"),
		"pca":                        {Image: "localhost/pca", Environment: map[string]string{"A": "1"}},
	}}
	for image, want := range map[string]string{
		"registry:5000/team/trees:2":          "tagged",
		"registry:5000/team/trees:2@sha256:1": "tagged",
		"registry:5000/team/trees:3":          "untagged",
		"registry:5000/team/trees":            "untagged",
		"registry/trees:2":                    "name",
		"trees":                               "name",
	} {
		got, err := c.Resolve(image)
		require.NoError(t, err)
		require.Equal(t, api.Algorithm{Command: []string{want}}, got, image)
	}
	got, err := c.Resolve("registry/pca:1") // before the built-in one
	require.NoError(t, err)
	require.Equal(t, api.Algorithm{Image: "localhost/pca", Environment: map[string]string{"A": "1"}}, got)
}

func TestOtherImagesGoToAContainerEngineWhereThereIsOne(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var c Config
	_, err := c.Resolve("registry/trees:2")
	require.EqualError(t, err, "neither a built-in algorithm (kmeans, pca) nor in a config file, and there is no podman or docker to run it")
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("PATH"), "docker"), []byte("#!/bin/sh\n"), 0o755))
	got, err := c.Resolve("registry/trees:2")
	require.NoError(t, err)
	require.Equal(t, api.Algorithm{Image: "registry/trees:2"}, got)
	got, err = c.Resolve("registry/pca:2")
	require.NoError(t, err)
	require.Equal(t, "pca", got.Command[2])
	_, err = c.Resolve("registry/lda:2")
	require.ErrorContains(t, err, "not part of this version")
}
