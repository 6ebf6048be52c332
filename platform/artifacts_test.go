package platform

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// A storage is a server whose bucket "out" gets artifacts, in both forms, and what was warned of.
type storage struct {
	*s3test.Server
	client *s3.Client

	mu       sync.Mutex
	warnings []string
	requests map[string]int // changing ones, by method and kind
}

func newStorage(t testing.TB) *storage {
	s := &storage{Server: s3test.New(), requests: map[string]int{}}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.CreateBucket("out"))
	s.client = s.Client(func(o *s3.Options) { o.RetryMaxAttempts = 1 })
	s.meddle(nil)
	return s
}

// meddle counts requests and has them fail as f says; nil has none fail.
func (s *storage) meddle(f func(r *http.Request, kind string) *s3test.Fault) {
	s.SetFault(func(r *http.Request) *s3test.Fault {
		kind := r.Method
		switch query := r.URL.Query(); {
		case query.Has("uploads"):
			kind = "create"
		case query.Has("partNumber"):
			kind = "part"
		case query.Has("uploadId") && r.Method == http.MethodPost:
			kind = "complete"
		case query.Has("uploadId"):
			kind = "abort"
		}
		s.mu.Lock()
		s.requests[kind]++
		s.mu.Unlock()
		if f == nil {
			return nil
		}
		return f(r, kind)
	})
}

func (s *storage) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, text)
}

func (s *storage) archive(ctx context.Context, dirs ...hostDir) (bool, error) {
	return storeArchive(ctx, s.client, "out", "job/output/model.tar.gz", dirs, s.warn)
}

func (s *storage) files(ctx context.Context, dirs ...hostDir) (bool, error) {
	return storeFiles(ctx, s.client, "out", "job/output/model/", dirs, s.warn)
}

// forms are the two, and how each is read back as contents by name.
var forms = map[string]struct {
	store func(*storage, context.Context, ...hostDir) (bool, error)
	read  func(*storage, testing.TB) map[string]string
}{
	"GZIP": {(*storage).archive, func(s *storage, t testing.TB) map[string]string {
		found := map[string]string{}
		for _, e := range s.unpack(t) {
			if e.Typeflag == tar.TypeReg {
				found[e.Name] = e.content
			}
		}
		return found
	}},
	"NONE": {(*storage).files, (*storage).objects},
}

func bothForms(t *testing.T, test func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string)) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			s := newStorage(t)
			test(t, s,
				func(dirs ...hostDir) (bool, error) { return form.store(s, t.Context(), dirs...) },
				func() map[string]string { return form.read(s, t) })
		})
	}
}

type packed struct {
	*tar.Header
	content string
}

// unpack reads the archive.
func (s *storage) unpack(t testing.TB) (all []packed) {
	t.Helper()
	object, err := s.client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("out"), Key: aws.String("job/output/model.tar.gz")})
	require.NoError(t, err)
	defer object.Body.Close()
	text, err := gzip.NewReader(object.Body)
	require.NoError(t, err)
	archive := tar.NewReader(text)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		all = append(all, packed{header, string(content)})
	}
}

// objects reads what is below the prefix of the model's files.
func (s *storage) objects(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	objects, err := s3stream.List(t.Context(), s.client, "s3://out/job/output/model/")
	if !errors.Is(err, s3stream.ErrNoObjects) {
		require.NoError(t, err)
	}
	for _, o := range objects {
		out, err := s.client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("out"), Key: aws.String(o.Key)})
		require.NoError(t, err)
		content, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		out.Body.Close()
		found[strings.TrimPrefix(o.Key, "job/output/model/")] = string(content)
	}
	return found
}

// stored counts everything in the bucket.
func (s *storage) stored(t testing.TB) int {
	t.Helper()
	objects, err := s3stream.List(t.Context(), s.client, "s3://out")
	if !errors.Is(err, s3stream.ErrNoObjects) {
		require.NoError(t, err)
	}
	return len(objects)
}

// newDir makes a host's directory that holds files of these contents; a name with a slash at its end is a directory.
func newDir(t testing.TB, host string, files map[string]string) hostDir {
	t.Helper()
	dir := hostDir{host, t.TempDir(), ""}
	for name, content := range files {
		dir.write(t, name, content)
	}
	return dir
}

func (d hostDir) at(name string) string { return d.path + "/" + name }

func (d hostDir) write(t testing.TB, name, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(d.at(name)), 0o755))
	if !strings.HasSuffix(name, "/") {
		require.NoError(t, os.WriteFile(d.at(name), []byte(content), 0o644))
	}
}

func TestHostsFilesAreStoredTogether(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		stored, err := store(
			newDir(t, "algo-1", map[string]string{"a": "1", "shards/0": "zero", "only-1/x": "x", "empty": ""}),
			newDir(t, "algo-2", map[string]string{"b": "2", "shards/1": "one", "half.sagemaker-ignore": "not yet"}),
			newDir(t, "algo-3", nil),
			hostDir{"algo-4", t.TempDir() + "/was never made", ""})
		require.NoError(t, err)
		require.True(t, stored)
		require.Equal(t, map[string]string{"a": "1", "b": "2", "shards/0": "zero", "shards/1": "one", "only-1/x": "x", "empty": ""}, read())
		require.Empty(t, s.warnings)
	})
}

// O1
func TestDirectoriesWithoutFilesStoreNothing(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		for _, dirs := range [][]hostDir{
			nil,
			{newDir(t, "algo-1", nil)},
			{newDir(t, "algo-1", map[string]string{"sub/dir/": ""}), newDir(t, "algo-2", map[string]string{"x.sagemaker-ignore": "x"})},
			{{"algo-1", t.TempDir() + "/was never made", ""}},
		} {
			stored, err := store(dirs...)
			require.NoError(t, err)
			require.False(t, stored)
		}
		require.Empty(t, s.requests)
	})
}

// O2
func TestTheLaterHostsFileCountsAndThatIsTold(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		one := newDir(t, "algo-1", map[string]string{"sub/model": "1", "a": "1"})
		two := newDir(t, "algo-2", map[string]string{"sub/model": "22"})
		three := newDir(t, "algo-10", map[string]string{"sub/model": "333"})
		_, err := store(one, two, three)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"sub/model": "333", "a": "1"}, read())
		require.Equal(t, []string{
			"sub/model is on algo-1 and on algo-2: that of algo-2 is stored",
			"sub/model is on algo-2 and on algo-10: that of algo-10 is stored",
		}, s.warnings)
		_, err = store(three, one)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"sub/model": "1", "a": "1"}, read(), "the order is the caller's")
	})
}

func TestAFileAndADirectoryOfOneNameAreAnError(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		dir := newDir(t, "algo-1", map[string]string{"model/part": "1"})
		file := newDir(t, "algo-2", map[string]string{"model": "2"})
		for _, dirs := range [][]hostDir{{dir, file}, {file, dir}} {
			stored, err := store(dirs...)
			require.ErrorContains(t, err, "model is a directory on algo-1 and a file on algo-2")
			require.False(t, stored)
		}
		require.Empty(t, s.requests)
	})
}

// O5
func TestTheArchivesEntriesAreRelativeAndInOrder(t *testing.T) {
	s := newStorage(t)
	dir := newDir(t, "algo-1", map[string]string{"b/c": "2", "b.txt": "3", "a": "1", "z/": "", "b/b/x": "4"})
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, os.Chmod(dir.at("a"), 0o755))
	require.NoError(t, os.Chtimes(dir.at("a"), when, when))
	require.NoError(t, os.Chown(dir.at("a"), os.Getuid(), os.Getgid()))
	_, err := s.archive(t.Context(), dir)
	require.NoError(t, err)
	all := s.unpack(t)
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
		require.Equal(t, []any{0, 0, "", ""}, []any{e.Uid, e.Gid, e.Uname, e.Gname})
	}
	require.Equal(t, []string{"a", "b/", "b/b/", "b/b/x", "b/c", "b.txt", "z/"}, names)
	require.EqualValues(t, 0o755, all[0].Mode)
	require.True(t, when.Equal(all[0].ModTime))
	require.Equal(t, 1, s.requests["PUT"])
}

func TestTheSameFilesMakeTheSameArchive(t *testing.T) {
	s := newStorage(t)
	dir := newDir(t, "algo-1", map[string]string{"a": strings.Repeat("text ", 1e5), "b/c": "2"})
	_, err := s.archive(t.Context(), dir)
	require.NoError(t, err)
	tag := func() string {
		head, err := s.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("out"), Key: aws.String("job/output/model.tar.gz")})
		require.NoError(t, err)
		return *head.ETag
	}
	first := tag()
	_, err = s.archive(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, first, tag())
}

// A FIFO that is opened waits for a writer that never comes.
func TestSpecialFilesAreLeftOutAndNeverOpened(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		dir := newDir(t, "algo-1", map[string]string{"a": "1"})
		require.NoError(t, syscall.Mkfifo(dir.at("fifo"), 0o644))
		want := []string{"fifo of algo-1 is not stored, as it is no regular file (p---------)"}
		if syscall.Mknod(dir.at("zero"), syscall.S_IFCHR|0o666, 1<<8|5) == nil {
			want = append(want, "zero of algo-1 is not stored, as it is no regular file (Dc---------)")
		}
		_, err := store(dir)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1"}, read())
		require.ElementsMatch(t, want, s.warnings)
	})
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := newDir(t, "outside", map[string]string{"secret": "s"})
	dir := newDir(t, "algo-1", map[string]string{"a": "1"})
	require.NoError(t, os.Symlink(outside.at("secret"), dir.at("file")))
	require.NoError(t, os.Symlink(outside.path, dir.at("dir")))
	require.NoError(t, os.Symlink("a", dir.at("dangling")))
	s := newStorage(t)
	_, err := s.archive(t.Context(), dir)
	require.NoError(t, err)
	links := map[string]string{}
	for _, e := range s.unpack(t) {
		links[e.Name] = e.Linkname
	}
	require.Equal(t, map[string]string{"a": "", "file": outside.at("secret"), "dir": outside.path, "dangling": "a"}, links)
	require.Empty(t, s.warnings)

	_, err = s.files(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1"}, s.objects(t))
	require.Len(t, s.warnings, 3)
	require.Contains(t, s.warnings, "dir of algo-1 is not stored, as it is a symbolic link")
}

var oddNames = []string{"-rf", "--checkpoint-action=exec=sh", "new\nline", "späße/雪", " ", "a b+c%20&d=?#", "*", `back\slash`,
	strings.Repeat("n", 255), strings.Repeat(strings.Repeat("d", 190)+"/", 5) + "deep", "\x01\x7f", "quote\"'<&>", "..."}

func TestOddNamesAreKept(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		want := map[string]string{}
		for i, name := range oddNames {
			want[name] = strings.Repeat("x", i)
		}
		_, err := store(newDir(t, "algo-1", want))
		require.NoError(t, err)
		require.Equal(t, want, read())
	})
}

func TestNamesThatAreNoKeysFitIntoAnArchiveOnly(t *testing.T) {
	long := strings.Repeat(strings.Repeat("d", 200)+"/", 6) + "long"
	for name, text := range map[string]string{"not \xff UTF-8": `"not \xff UTF-8": no valid S3 key`, long: "…"} {
		dir := newDir(t, "algo-1", map[string]string{"a": "1", name: "2"})
		s := newStorage(t)
		_, err := s.archive(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1", name: "2"}, forms["GZIP"].read(s, t))
		_, err = s.files(t.Context(), dir)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, "algo-1: ")
		require.Less(t, len(err.Error()), 600)
		require.Empty(t, s.objects(t), "which is known before anything is stored")
	}
}

// noise does not compress, and needs several parts.
var noise = func() []byte {
	b := make([]byte, 30<<20)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}()

func TestLargeFilesGoInParts(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		_, err := store(newDir(t, "algo-1", map[string]string{"weights": string(noise)}))
		require.NoError(t, err)
		require.True(t, read()["weights"] == string(noise))
		require.Equal(t, []int{1, 1}, []int{s.requests["create"], s.requests["complete"]})
		require.GreaterOrEqual(t, s.requests["part"], 4)
	})
}

func TestAFileThatChangesWhileItIsStoredIsNamed(t *testing.T) {
	grow := func(path string) error {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString("more")
		return errors.Join(err, file.Close())
	}
	shrink := func(path string) error { return os.Truncate(path, 29<<20) }
	for name, change := range map[string]func(string) error{"grows": grow, "shrinks": shrink} {
		t.Run(name, func(t *testing.T) {
			bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
				dir := newDir(t, "algo-1", map[string]string{"sub/weights": string(noise)})
				s.meddle(func(r *http.Request, kind string) *s3test.Fault {
					if kind == "create" { // after the first part was read
						if err := change(dir.at("sub/weights")); err != nil {
							t.Error(err)
						}
					}
					return nil
				})
				stored, err := store(dir)
				require.ErrorContains(t, err, "algo-1: sub/weights: the file changed while it was stored")
				require.False(t, stored)
				require.Zero(t, s.stored(t))
				require.Equal(t, []int{1, 0, 1}, []int{s.requests["create"], s.requests["complete"], s.requests["abort"]})
			})
		})
	}
}

func TestAnUploadThatFailsLeavesNothing(t *testing.T) {
	for _, failing := range []string{"create", "part", "complete"} {
		t.Run(failing, func(t *testing.T) {
			bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
				s.meddle(func(r *http.Request, kind string) *s3test.Fault {
					if kind == failing {
						return &s3test.Fault{Status: 500, Code: "InternalError"}
					}
					return nil
				})
				stored, err := store(newDir(t, "algo-1", map[string]string{"weights": string(noise)}))
				require.Error(t, err)
				require.False(t, stored)
				require.Zero(t, s.stored(t))
				if failing != "create" {
					require.Equal(t, 1, s.requests["abort"])
				}
			})
		})
	}
}

func TestAnUploadThatIsCancelledLeavesNothing(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			s := newStorage(t)
			reason := errors.New("the grace is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			s.meddle(func(r *http.Request, kind string) *s3test.Fault {
				if kind == "part" {
					cancel(reason)
				}
				return nil
			})
			_, err := form.store(s, ctx, newDir(t, "algo-1", map[string]string{"weights": string(noise)}))
			require.ErrorIs(t, err, reason)
			require.Zero(t, s.stored(t))
			require.Equal(t, 1, s.requests["abort"])
		})
	}
}

func TestAMissingBucketIsNamed(t *testing.T) {
	s := newStorage(t)
	dir := []hostDir{newDir(t, "algo-1", map[string]string{"a": "1", "weights": string(noise)})}
	for name, store := range map[string]func(context.Context, *s3.Client, string, string, []hostDir, func(string)) (bool, error){
		"GZIP": storeArchive, "NONE": storeFiles,
	} {
		_, err := store(t.Context(), s.client, "nowhere", "key/", dir, s.warn)
		require.ErrorContains(t, err, `bucket "nowhere": please ensure that it exists`, name)
	}
}

func TestADirectoryThatCannotBeReadIsAnError(t *testing.T) {
	bothForms(t, func(t *testing.T, s *storage, store func(...hostDir) (bool, error), read func() map[string]string) {
		file := newDir(t, "algo-1", map[string]string{"model": "x"})
		_, err := store(hostDir{"algo-1", file.at("model"), ""})
		require.ErrorContains(t, err, "algo-1: ")
		require.NoError(t, os.Symlink(file.at("nothing"), file.at("link")))
		_, err = store(hostDir{"algo-2", file.at("link"), ""})
		require.ErrorContains(t, err, "algo-2: ", "what the algorithm put in the directory's place is lost")
	})
}

// A counting client knows how many PUTs there are at a time.
type counting struct {
	s3.HTTPClient
	mu        sync.Mutex
	now, most int
	two       chan struct{} // closed when there are two
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut {
		return c.HTTPClient.Do(r)
	}
	c.mu.Lock()
	if c.now++; c.now == 2 && c.most < 2 {
		close(c.two)
	}
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}()
	<-c.two
	return c.HTTPClient.Do(r)
}

func TestFewFilesAreStoredAtATime(t *testing.T) {
	s := newStorage(t)
	dir := newDir(t, "algo-1", nil)
	for i := range 100 {
		dir.write(t, strings.Repeat("f", i+1), "x")
	}
	count := &counting{two: make(chan struct{})}
	s.client = s.Client(func(o *s3.Options) { count.HTTPClient, o.HTTPClient = o.HTTPClient, count })
	_, err := s.files(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, 100, s.stored(t))
	require.LessOrEqual(t, count.most, filesAtATime)
}

// Whatever hosts wrote, S3 holds each name once, with the content of the last.
func TestWhatIsStoredIsOneHostsFilesOverTheOthers(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "d/a", "d/b", "d/e/a", "f", "x.sagemaker-ignore", "ü\n"})
	tree := rapid.MapOfN(names, rapid.StringN(0, 3, -1), 0, 5)
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := newStorage(t)
				defer s.Close()
				want, clashes := map[string]string{}, 0
				var dirs []hostDir
				for i := range rapid.IntRange(1, 4).Draw(rt, "hosts") {
					files := tree.Draw(rt, "files")
					dirs = append(dirs, newDir(t, "algo-"+string(rune('1'+i)), files))
					delete(files, "x.sagemaker-ignore")
					for name := range files {
						if _, is := want[name]; is {
							clashes++
						}
					}
					maps.Copy(want, files)
				}
				stored, err := form.store(s, t.Context(), dirs...)
				require.NoError(rt, err)
				require.Equal(rt, len(want) > 0, stored)
				require.Len(rt, s.warnings, clashes)
				if stored {
					require.Equal(rt, want, form.read(s, t))
				}
			})
		})
	}
}

func TestEntriesAreInTheOrderOfAWalk(t *testing.T) {
	dir := newDir(t, "algo-1", map[string]string{"a/b": "", "a-": "", "a.x/y": "", "b/": "", "\x01": "", "a/\x01": "", "ab": "", "a/b!": ""})
	all, err := merge([]hostDir{dir}, func(string) {})
	require.NoError(t, err)
	defer all.close()
	var got, want []string
	for _, e := range all.entries {
		got = append(got, e.name)
	}
	require.NoError(t, filepath.WalkDir(dir.path, func(name string, _ fs.DirEntry, err error) error {
		want = append(want, name[min(len(name), len(dir.path)+1):])
		return err
	}))
	require.Equal(t, want[1:], got)
}

func BenchmarkPack(b *testing.B) {
	dir := newDir(b, "algo-1", map[string]string{"weights": string(noise)})
	all, err := merge([]hostDir{dir}, func(string) {})
	require.NoError(b, err)
	defer all.close()
	b.SetBytes(int64(len(noise)))
	for b.Loop() {
		require.NoError(b, pack(io.Discard, all.entries))
	}
}
