package textrows

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
)

// scanNumber scans the decimal number that begins at s[i] and returns it with the index behind
// it, which is i where none begins there or its value needs a look of number's.
//
// The value is that of strconv.ParseFloat(s, 32). All digits fit in an integer, which is scaled
// in float64: three roundings, each off by at most half a unit in the last place. float32 drops
// 29 bits of that, so its rounding is certain unless those bits are within a few units of the
// middle; then, and in the range of subnormal numbers, strconv decides.
//
// What is random in data, signs and numbers of digits, costs no branch: a processor guesses those
// wrong half of the time.
func scanNumber(s []byte, i int) (x float32, next int) {
	const maxDigits = 19 // 10^19 < 2^64
	begin := i
	sign := uint32(0)
	if i < len(s) {
		if s[i] == '-' {
			sign = 1
		}
		i += int(sign)
		if s[i-int(sign)] == '+' {
			i++
		}
	}
	mantissa, digits := scanDigits(s, i, 0)
	i += digits
	exponent := 0
	if i < len(s) && s[i] == '.' {
		var n int
		mantissa, n = scanDigits(s, i+1, mantissa)
		i += 1 + n
		digits += n
		exponent = -n
	}
	if digits == 0 {
		return 0, begin
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		var ok bool
		if exponent, i, ok = scanExponent(s, i+1, exponent); !ok {
			return 0, begin
		}
	}
	if digits <= maxDigits {
		if x, ok := scale(mantissa, exponent); ok {
			return math.Float32frombits(math.Float32bits(x) | sign<<31), i
		}
	}
	x, err := parseFloat(s[begin:i])
	if err != nil {
		return 0, begin
	}
	return x, i
}

// scanDigits returns the number that the digits of mantissa and those that begin at s[i] form,
// and how many begin there. It takes eight bytes at a time, of which the ones past the end of s,
// in its capacity, do not count.
func scanDigits(s []byte, i int, mantissa uint64) (uint64, int) {
	begin := i
	for cap(s)-i >= 8 {
		// Each byte's distance from '0', and the high bit of each that is above 9.
		w := binary.LittleEndian.Uint64(s[i:][:8]) ^ 0x3030303030303030
		odd := (w&0x7f7f7f7f7f7f7f7f + 0x7676767676767676 | w) & 0x8080808080808080
		n := min(bits.TrailingZeros64(odd)/8, len(s)-i)
		mantissa = mantissa*wholePowers[n] + joinEight(w<<(64-8*n))
		i += n
		if n < 8 {
			return mantissa, i - begin
		}
	}
	for i < len(s) && s[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(s[i]-'0')
		i++
	}
	return mantissa, i - begin
}

// scanExponent scans the number behind an e, and adds it to exponent. Beyond what float64 can
// express, it stays there.
func scanExponent(s []byte, i, exponent int) (sum, next int, ok bool) {
	sign := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		if s[i] == '-' {
			sign = -1
		}
		i++
	}
	first, e := i, 0
	for i < len(s) && s[i]-'0' <= 9 {
		if e < 1e6 {
			e = e*10 + int(s[i]-'0')
		}
		i++
	}
	return exponent + (e ^ sign - sign), i, i > first // -e where sign is -1
}

// scale returns mantissa·10^exponent as float32, if its rounding is certain.
func scale(mantissa uint64, exponent int) (float32, bool) {
	if uint(exponent+maxPower) > 2*maxPower {
		return 0, false
	}
	wide := float64(mantissa) * powers[exponent+maxPower]
	const middle, margin = 1 << 28, 8
	dropped := math.Float64bits(wide) & (1<<29 - 1)
	if dropped-(middle-margin) <= 2*margin || wide > math.MaxFloat32 || wide < 0x1p-126 && mantissa != 0 {
		return 0, false
	}
	return float32(wide), true
}

// maxPower is as far as a number of 19 digits needs it to be a normal float32.
const maxPower = 60

// powers are those of ten from -maxPower to maxPower, each rounded once.
var powers = func() (p [2*maxPower + 1]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i-maxPower), 64)
	}
	return p
}()

var wholePowers = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// joinEight returns the number of eight digits, the first one in the lowest byte: pairs are
// joined, then fours, then all (Lemire, "Quickly parsing eight digits").
func joinEight(w uint64) uint64 {
	w = w*10 + w>>8
	const mask, low, high = 0x000000ff000000ff, 100 + 1000000<<32, 1 + 10000<<32
	return (w&mask*low + w>>16&mask*high) >> 32
}

// parseFloat is strconv's, without a copy of s.
func parseFloat(s []byte) (float32, error) {
	x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(s), len(s)), 32)
	return float32(x), err
}

// number parses a token that must be a decimal number as a whole, or, where wanted, infinite or
// NaN as strconv writes them. The error says what is wrong with it.
func number(token []byte, nonFinite bool) (float32, error) {
	if len(token) == 0 {
		return 0, errMissing
	}
	if x, next := scanNumber(token, 0); next == len(token) {
		return x, nil
	}
	x, err := parseFloat(token)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, quoted(token, errTooLarge)
	case err != nil || !isWord(token):
		return 0, quoted(token, errNotNumber)
	case !nonFinite:
		return 0, quoted(token, errNotFinite)
	}
	return x, nil
}

// isWord reports whether a token that strconv accepts is NaN or infinite: not the hexadecimal
// numbers that it accepts too.
func isWord(token []byte) bool {
	c := token[0]
	if (c == '-' || c == '+') && len(token) > 1 {
		c = token[1]
	}
	return c|0x20 == 'n' || c|0x20 == 'i'
}
