// Probe is the program of the tests' images. Its arguments say what it does, each in turn.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, arg := range os.Args[1:] {
		verb, value, found := strings.Cut(arg, "=")
		if do := verbs[verb]; do != nil && found {
			check(do(value))
		}
	}
}

var verbs = map[string]func(string) error{
	"report": report,
	"exit":   exit,
	"catch":  catch,
	"ignore": ignore,
	"hang":   hang,
	"read":   read,
	"await":  await,
	"lookup": lookup, "resolve": resolve,
	"serve":  serve,
	"dial":   dial,
	"lines":  lines,
	"slab":   slab,
	"part":   part,
	"eat":    eat,
	"peers":  peers,
	"routes": routes,
	"touch":  func(path string) error { return os.WriteFile(path, nil, 0o644) },
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(3)
	}
}

// report prints what the program sees of itself.
func report(string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	hostname, _ := os.Hostname()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"Args": os.Args, "Env": os.Environ(), "Dir": dir, "PID": os.Getpid(), "UID": os.Getuid(), "Hostname": hostname,
	})
}

func exit(code string) error {
	n, err := strconv.Atoi(code)
	if err == nil {
		os.Exit(n)
	}
	return err
}

// catch exits with the code on SIGTERM.
func catch(code string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Println("ready")
	fmt.Println("got", <-signals)
	return exit(code)
}

func ignore(string) error {
	signal.Ignore(syscall.SIGTERM)
	return hang("")
}

func hang(string) error {
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}

// read prints a file or pipe.
func read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, file)
	return err
}

// await waits for a file to appear, and prints it.
func await(path string) error {
	fmt.Println("ready")
	for {
		if _, err := os.Stat(path); err == nil {
			return read(path)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// resolve waits for a name: the server of names may hear of a container when that runs already.
func resolve(name string) error {
	for {
		if _, err := net.LookupHost(name); err == nil {
			fmt.Println(name, true)
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func lookup(name string) error {
	_, err := net.LookupHost(name)
	fmt.Println(name, err == nil)
	return nil
}

// serve answers so many connections with its host name.
func serve(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", ":7777")
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for range n {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		hostname, _ := os.Hostname()
		fmt.Fprintln(conn, hostname)
		conn.Close()
	}
	return nil
}

// dial prints the answer of a host, which may not be there yet.
func dial(host string) error {
	for {
		conn, err := net.Dial("tcp", host+":7777")
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		answer, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			return err
		}
		fmt.Printf("%s is %s", host, answer)
		return nil
	}
}

// peers answers each of so many hosts, asks each, and ends when all have been answered.
func peers(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	served := make(chan error)
	go func() { served <- serve(count) }()
	for i := 1; i <= n; i++ {
		if err := dial(fmt.Sprint("algo-", i)); err != nil {
			return err
		}
	}
	return <-served
}

// routes prints where the routes lead, in hexadecimal.
func routes(string) error {
	table, err := os.ReadFile("/proc/net/route")
	for _, line := range strings.Split(string(table), "\n")[1:] {
		if fields := strings.Fields(line); len(fields) > 1 {
			fmt.Println(fields[1])
		}
	}
	return err
}

// lines writes lines of 20 kB to both outputs at once.
func lines(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	done := make(chan bool)
	write := func(to *os.File, letter string) {
		for i := range n {
			fmt.Fprintf(to, "%s%d:%s\n", letter, i, strings.Repeat(letter, 20_000))
		}
		done <- true
	}
	go write(os.Stdout, "o")
	go write(os.Stderr, "e")
	<-done
	<-done
	return nil
}

// slab writes a line of so many bytes.
func slab(size string) error {
	n, err := strconv.Atoi(size)
	fmt.Println(strings.Repeat("x", n))
	return err
}

// part writes a line without its end.
func part(text string) error {
	_, err := os.Stdout.WriteString(text)
	return err
}

// eat takes memory.
func eat(megabytes string) error {
	n, err := strconv.Atoi(megabytes)
	kept := make([][]byte, n)
	for i := range kept {
		kept[i] = make([]byte, 1<<20)
		for j := range kept[i] {
			kept[i][j] = 1
		}
	}
	fmt.Println("eaten", len(kept))
	return err
}
