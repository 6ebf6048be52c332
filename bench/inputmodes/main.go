// Inputmodes compares whole training jobs in Pipe, FastFile and File mode, in
// the same run, from the same local server: the time from the call of
// platform.Run to the algorithm's first record, for a little data and for much,
// and a pass of PCA. Server, platform and container are processes of their own.
//
// All modes take their turn in each round; the median of the rounds counts.
// Objects are copies of one, which a directory of them shares on disk; what File
// mode downloads takes its room in the directory for temporary files.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(ctx, os.Args[2:]); err != nil {
				log.Fatalf("%s: %v", os.Args[1], err)
			}
			return
		}
	}
	b := bench{}
	flag.StringVar(&b.pca, "pca", "", "the PCA container `program`; without it its pass is left out")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds")
	flag.IntVar(&b.largeFile, "large-file-rounds", 1, "rounds that have File mode download the most data, too")
	flag.Parse()
	if err := b.run(ctx); err != nil {
		log.Fatal(err)
	}
	b.print()
}
