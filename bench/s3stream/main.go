// S3stream compares the road from S3 to a named pipe with what bounds it and
// with its peers, in the same run and from the same local server: N plain
// parallel GETs, a bare copy through the pipe, s5cmd and the SDK's transfer
// manager. Server, engine and reader are processes of their own.
//
// All take their turn in each round; the median of the rounds counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(context.Background(), os.Args[2:]); err != nil {
				log.Fatalf("%s: %v", os.Args[1], err)
			}
			return
		}
	}
	b := bench{}
	flag.IntVar(&b.rounds, "rounds", 5, "rounds")
	flag.IntVar(&b.count, "objects", 50, "objects")
	flag.Int64Var(&b.size, "size", 20_000_000, "bytes of each")
	flag.StringVar(&b.s5cmd, "s5cmd", "", "the s5cmd `program`; without it that peer is left out")
	flag.Parse()
	if err := b.run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Print(b.table())
}
