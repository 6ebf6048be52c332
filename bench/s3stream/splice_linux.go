package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/algospec/algospec/platform/s3stream"
)

func init() { children["splice"] = spliced }

// spliced moves all objects from one connection into a pipe by splice(2), one
// after the other, with requests of its own making: URL PATH.
func spliced(ctx context.Context, args []string) error {
	objects, err := s3stream.List(ctx, newClient(args[0]), "s3://data/")
	if err != nil {
		return err
	}
	u, err := url.Parse(args[0])
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	socket, err := conn.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	syscall.SetNonblock(int(socket.Fd()), false)
	in := bufio.NewReader(socket)
	return intoPipe(args[1], func(w io.Writer) error {
		file := w.(*os.File)
		syscall.SetNonblock(int(file.Fd()), false)
		for _, o := range objects {
			fmt.Fprintf(conn, "GET /data/%s HTTP/1.1\r\nHost: %s\r\n\r\n", o.Key, u.Host)
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				return err
			}
			if answer.StatusCode != 200 {
				return fmt.Errorf("%s", answer.Status)
			}
			head := min(int64(in.Buffered()), o.Size)
			if _, err := io.CopyN(file, in, head); err != nil {
				return err
			}
			for left := o.Size - head; left > 0; {
				n, err := syscall.Splice(int(socket.Fd()), nil, int(file.Fd()), nil, int(min(left, 1<<20)), 1)
				if err != nil {
					return err
				}
				if n == 0 {
					return io.ErrUnexpectedEOF
				}
				left -= n
			}
		}
		return nil
	})
}
