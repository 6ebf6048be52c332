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
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/internal/csvrows"
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
		return dataset{rows: csvrows.File(s.data)}
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

	scaled := blas32.General{Rows: k, Cols: features, Stride: features, Data: make([]float32, k*features)}
	for j := range k {
		for i := range features {
			scaled.Data[j*features+i] = float32(10 * math.Pow(0.8, float64(j)) * directions.At(i, j))
		}
	}
	return dataset{rows: sample(rows, scaled, random), expect: rows, directions: directions}
}

// sample yields rows: mean + scaled·z + noise, z and noise standard normal, a block at a time.
func sample(rows int, scaled blas32.General, random *rand.Rand) iter.Seq2[[]float32, error] {
	const block, noise = 1000, 0.2
	mean := make([]float32, features)
	for i := range mean {
		mean[i] = float32(100 * random.NormFloat64())
	}
	return func(yield func([]float32, error) bool) {
		k := scaled.Rows
		z := blas32.General{Rows: block, Cols: k, Stride: k, Data: make([]float32, block*k)}
		x := blas32.General{Rows: block, Cols: features, Stride: features, Data: make([]float32, block*features)}
		for done := 0; done < rows; done += block {
			for i := range z.Data {
				z.Data[i] = float32(random.NormFloat64())
			}
			for i := range x.Data {
				// A sum of uniform numbers is normal enough for noise, and fast.
				bits := random.Uint64()
				u := float32(bits&0xffff) + float32(bits>>16&0xffff) + float32(bits>>32&0xffff) + float32(bits>>48)
				x.Data[i] = mean[i%features] + noise*(u/(1<<16)-2)*1.7320508
			}
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, z, scaled, 1, x)
			for i := range min(block, rows-done) {
				if !yield(x.Data[i*features:][:features], nil) {
					return
				}
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
