package textrows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// equalsStrconv checks that scanNumber returns, of a number that strconv accepts, the same bits.
func equalsStrconv(tb testing.TB, text string) {
	tb.Helper()
	want, err := strconv.ParseFloat(text, 32)
	got, next := scanNumber([]byte(text), 0)
	if err != nil {
		require.Zero(tb, next, "%s is accepted; strconv says %v", text, err)
		return
	}
	require.Equal(tb, len(text), next, text)
	require.Equal(tb, math.Float32bits(float32(want)), math.Float32bits(got), "%s: got %v, want %v", text, got, want)
}

func TestNumbersAreThoseOfStrconv(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "+0", "0.0", "-0e9", "1.", ".5", "-.5", "+1", "00012", "1e3", "1E+3", "1e-3",
		"16777216", "16777217", "16777218", "16777219", // 2^24 and the middles behind it
		"16777217.0000000000000001", "16777216.999999999999999999999",
		"3.4028234663852886e38", "3.4028235e38", "3.4028235677973366e38", "3.4028235677973367e38", "1e39", "-1e39",
		"1.1754943508222875e-38", "1.1754942e-38", "1e-45", "7e-46", "1e-46", "1e-60", "0e99999999999", "1e-99999999999",
		"12345678901234567890", "1234567890123456789", "9999999999999999999", "18446744073709551616",
		"0.00000000000000000000000000000000000000000000000000001e50", "1234567890123456789e-50",
		"0.1234567", "0.12345678", "0.123456789", "0.1234567812345678", "0.12345678123456781",
	} {
		equalsStrconv(t, text)
	}
}

func TestRandomNumbersAreThoseOfStrconv(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 15_000 {
		x := math.Float32frombits(random.Uint32())
		if x != x || math.IsInf(float64(x), 0) {
			continue
		}
		// The number itself, and the middle between it and the next one, a little below and above.
		next := math.Float32frombits(math.Float32bits(x) + 1)
		middle := (float64(x) + float64(next)) / 2
		for _, y := range []float64{float64(x), middle, math.Nextafter(middle, 0), math.Nextafter(middle, 1e300)} {
			if math.IsInf(y, 0) || y != y {
				continue
			}
			equalsStrconv(t, strconv.FormatFloat(y, 'g', -1, 64))
			equalsStrconv(t, strconv.FormatFloat(y, 'e', 18, 64))
		}
		equalsStrconv(t, strconv.FormatFloat(float64(x), 'g', 1+random.IntN(18), 64))
		equalsStrconv(t, fmt.Sprintf("%d.%0*de%d", random.Uint32()>>random.IntN(32), 1+random.IntN(12), random.Uint32(), random.IntN(120)-60))
	}
}

func TestWhatIsNoNumberEndsTheScan(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "-": 0, ".": 0, "+.": 0, "e5": 0, "1e": 0, "1e+": 0, "x": 0, "NaN": 0, "-inf": 0,
		"1,2": 1, "1 ": 1, "1.5x": 3, "1.5.5": 3, "0x10": 1, "1_0": 1, "--1": 0,
	} {
		_, next := scanNumber([]byte(text), 0)
		require.Equal(t, want, next, "%q", text)
	}
}

func FuzzNumber(f *testing.F) {
	f.Add("1.5e-3")
	f.Add("0x1p-2")
	f.Fuzz(func(t *testing.T, text string) {
		x, next := scanNumber([]byte(text), 0)
		if next == 0 {
			return
		}
		want, err := strconv.ParseFloat(text[:next], 32)
		require.NoError(t, err)
		require.Equal(t, math.Float32bits(float32(want)), math.Float32bits(x), text)
	})
}
