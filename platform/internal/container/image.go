package container

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxPull is how long an image may take to arrive.
const maxPull = time.Hour

// An ImageError says that an image is not here and cannot be fetched.
type ImageError struct {
	Image string
	Err   error // what the pull said
}

func (e *ImageError) Error() string {
	return fmt.Sprintf("image %s: not on this machine, and it cannot be pulled: %v", e.Image, e.Err)
}

func (e *ImageError) Unwrap() error { return e.Err }

// ClientError reports that the image is at fault.
func (e *ImageError) ClientError() bool { return true }

// fetch pulls an image that is not there.
func (r *Runtime) fetch(ctx context.Context, image string) error {
	_, err := r.call(ctx, r.patience, "image", "inspect", "--format", "{{.Id}}", image)
	if err == nil || ctx.Err() != nil || errors.Is(err, errNoAnswer) {
		return err
	}
	_, err = r.call(ctx, maxPull, "pull", "--quiet", image)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &ImageError{image, err}
}
