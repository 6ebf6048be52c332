package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/internal/textrows"
	"github.com/algospec/algospec/recordio"
)

const (
	features   = 50      // of generated rows
	objectSize = 8 << 20 // where an object ends and the next begins
)

// A dataset is rows to store, and what is known about them.
type dataset struct {
	rows       iter.Seq2[[]float32, error] // each valid during its step
	expect     int                         // how many rows, 0 where that is not known
	directions *mat.Dense                  // features×k, the principal directions, first one first; nil where unknown
}

// newDataset returns the user's data, or generated ones.
func newDataset(s settings) dataset {
	if s.data != "" {
		return dataset{rows: textrows.File(s.data)}
	}
	return generate(s.rows, min(s.components, features), s.seed)
}

// generate returns rows that vary along k random orthonormal directions, along each 0.8 times as
// much as along the one before, with a little noise in all others, about a mean far from zero.
func generate(rows, k int, seed uint64) dataset {
	random := rand.New(rand.NewPCG(seed, 1))
	var qr mat.QR
	square := mat.NewDense(features, features, nil)
	for i := range features {
		for j := range features {
			square.Set(i, j, random.NormFloat64())
		}
	}
	qr.Factorize(square)
	var q mat.Dense
	qr.QTo(&q)
	directions := mat.DenseCopyOf(q.Slice(0, features, 0, k))

	scaled := make([][features]float32, k)
	for j := range scaled {
		for i := range features {
			scaled[j][i] = float32(10 * math.Pow(0.8, float64(j)) * directions.At(i, j))
		}
	}
	return dataset{rows: sample(rows, scaled, random), expect: rows, directions: directions}
}

// sample yields rows: mean + noise + Σ z·scaled, with z and noise standard normal.
func sample(rows int, scaled [][features]float32, random *rand.Rand) iter.Seq2[[]float32, error] {
	const noise = 0.2
	var mean [features]float32
	for i := range mean {
		mean[i] = float32(100 * random.NormFloat64())
	}
	return func(yield func([]float32, error) bool) {
		var x [features]float32
		for range rows {
			for i := range x {
				// A sum of uniform numbers is normal enough for noise, and fast.
				bits := random.Uint64()
				u := float32(bits&0xffff) + float32(bits>>16&0xffff) + float32(bits>>32&0xffff) + float32(bits>>48)
				x[i] = mean[i] + noise*(u/(1<<16)-2)*1.7320508
			}
			for j := range scaled {
				z := float32(random.NormFloat64())
				for i, direction := range scaled[j] {
					x[i] += z * direction
				}
			}
			if !yield(x[:], nil) {
				return
			}
		}
	}
}

// store writes the rows as RecordIO-protobuf objects prefix00000, prefix00001, … and returns how
// many rows and features there were. progress hears of each object.
func (d dataset) store(ctx context.Context, client *s3.Client, bucket, prefix string, progress func(rows int)) (rows, columns int, err error) {
	var object bytes.Buffer
	w := recordio.NewWriter(&object)
	objects := 0
	put := func() error {
		if err := w.Flush(); err != nil {
			return err
		}
		_, err := client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: aws.String(bucket), Key: aws.String(fmt.Sprintf("%s%05d", prefix, objects)), Body: bytes.NewReader(object.Bytes()),
		})
		objects++
		object.Reset()
		progress(rows)
		return err
	}
	for row, err := range d.rows {
		if err == nil {
			err = w.WriteRow(row)
		}
		if err != nil {
			return rows, columns, err
		}
		columns = len(row)
		rows++
		if object.Len() >= objectSize {
			if err := put(); err != nil {
				return rows, columns, err
			}
		}
	}
	return rows, columns, put()
}
