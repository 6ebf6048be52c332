package api

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform"
)

// keepPictures keeps what a job describes, beside its log, as the output in S3 may be anywhere and of any size. That it
// cannot be kept fails no job.
func (s *Service) keepPictures(j *job, result *platform.Result) {
	err := result.PicturesErr
	if len(result.Pictures) > 0 {
		path := s.lines.pictures(j.Name)
		err = os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = atomicfile.Write(path, bytes.NewReader(mustJSON(result.Pictures)))
		}
	}
	if err != nil {
		s.logger.Warn("the pictures of a training job were not kept", "job", j.Name, "error", err)
	}
}

// Pictures returns the pictures that a job has described, once it has ended.
func (s *Service) Pictures(name string) ([]algospec.Picture, error) {
	if _, err := s.record(&name); err != nil {
		return nil, err
	}
	file, err := os.Open(s.lines.pictures(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pictures of training job %s: %w", name, err)
	}
	defer file.Close()
	pictures, err := algospec.ReadPictures(file)
	if err != nil {
		return nil, fmt.Errorf("training job %s: %w", name, err)
	}
	return pictures, nil
}

func (l *lineLog) pictures(job string) string {
	return filepath.Join(l.dir, job, algospec.PicturesFile)
}
