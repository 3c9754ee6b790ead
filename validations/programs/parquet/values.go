package main

import (
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// valueWriter appends the letter of the type and the text of a value that is not null.
type valueWriter func(to []byte, value parquet.Value) []byte

// The layouts of times. A fraction is written only where there is one.
const (
	layoutTime  = "15:04:05.999999999"
	layoutLocal = "2006-01-02T15:04:05.999999999"
	layoutUTC   = layoutLocal + "Z"
)

// writerOf returns what writes the values of a leaf: by its logical type, else by the type of its bytes
// (Apache Parquet, LogicalTypes).
func writerOf(leaf parquet.Node) valueWriter {
	if logical := leaf.Type().LogicalType(); logical != nil {
		if write := logicalWriter(leaf.Type(), logical.Value); write != nil {
			return write
		}
	}
	switch leaf.Type().Kind() {
	case parquet.Boolean:
		return func(to []byte, v parquet.Value) []byte { return strconv.AppendBool(append(to, 'b'), v.Boolean()) }
	case parquet.Int32:
		return func(to []byte, v parquet.Value) []byte {
			return strconv.AppendInt(append(to, 'n'), int64(v.Int32()), 10)
		}
	case parquet.Int64:
		return func(to []byte, v parquet.Value) []byte { return strconv.AppendInt(append(to, 'n'), v.Int64(), 10) }
	case parquet.Int96:
		return writeInt96
	case parquet.Float:
		return func(to []byte, v parquet.Value) []byte { return appendFloat(to, float64(v.Float()), 32) }
	case parquet.Double:
		return func(to []byte, v parquet.Value) []byte { return appendFloat(to, v.Double(), 64) }
	default:
		return func(to []byte, v parquet.Value) []byte { return appendText(to, v.ByteArray()) }
	}
}

// logicalWriter is nil for a logical type that says no more than the type of the bytes.
func logicalWriter(physical parquet.Type, logical format.LogicalTypeValue) valueWriter {
	switch logical := logical.(type) {
	case *format.DecimalType:
		if logical.Scale < 0 || logical.Scale > maxScale {
			return nil
		}
		return func(to []byte, v parquet.Value) []byte { return appendDecimal(to, unscaled(v), int(logical.Scale)) }
	case *format.DateType:
		return func(to []byte, v parquet.Value) []byte {
			return appendMoment(to, time.Unix(int64(v.Int32())*secondsPerDay, 0), time.DateOnly)
		}
	case *format.TimeType:
		return momentWriter(logical.Unit, layoutTime)
	case *format.TimestampType:
		if logical.IsAdjustedToUTC {
			return momentWriter(logical.Unit, layoutUTC)
		}
		return momentWriter(logical.Unit, layoutLocal)
	case *format.IntType:
		switch {
		case logical.IsSigned:
			return nil
		case physical.Kind() == parquet.Int32:
			return func(to []byte, v parquet.Value) []byte {
				return strconv.AppendUint(append(to, 'n'), uint64(v.Uint32()), 10)
			}
		default:
			return func(to []byte, v parquet.Value) []byte {
				return strconv.AppendUint(append(to, 'n'), v.Uint64(), 10)
			}
		}
	case *format.UUIDType:
		return appendUUID
	case *format.Float16Type:
		return func(to []byte, v parquet.Value) []byte { return appendFloat(to, half(v.ByteArray()), 32) }
	default:
		return nil
	}
}

func appendUUID(to []byte, v parquet.Value) []byte {
	id, err := uuid.FromBytes(v.ByteArray())
	if err != nil {
		return appendText(to, v.ByteArray())
	}
	return append(append(to, 's'), id.String()...)
}

const (
	// maxScale is that of the longest decimals which programs write.
	maxScale = 76

	secondsPerDay = 24 * 60 * 60
	// julianEpoch is the Julian day of 1970-01-01.
	julianEpoch = 2_440_588
)

// momentWriter writes times that are counted in a unit.
func momentWriter(unit format.TimeUnit, layout string) valueWriter {
	perSecond := int64(time.Second)
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		perSecond = 1_000
	case *format.MicroSeconds:
		perSecond = 1_000_000
	}
	return func(to []byte, v parquet.Value) []byte {
		seconds, rest := whole(v)/perSecond, whole(v)%perSecond
		return appendMoment(to, time.Unix(seconds, rest*(int64(time.Second)/perSecond)), layout)
	}
}

// writeInt96 writes the timestamps of old writers: nanoseconds of a day, and the Julian day. They are in UTC.
func writeInt96(to []byte, v parquet.Value) []byte {
	parts := v.Int96()
	nanoseconds := int64(parts[1])<<32 | int64(parts[0])
	//nolint:gosec // the day is signed
	seconds := (int64(int32(parts[2])) - julianEpoch) * secondsPerDay
	return appendMoment(to, time.Unix(seconds, nanoseconds), layoutUTC)
}

func appendMoment(to []byte, when time.Time, layout string) []byte {
	return when.UTC().AppendFormat(append(to, 't'), layout)
}

// whole is an integer of 4 or 8 bytes.
func whole(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// unscaled is a decimal without its point: an integer, or big-endian bytes in two's complement.
func unscaled(v parquet.Value) *big.Int {
	if v.Kind() == parquet.Int32 || v.Kind() == parquet.Int64 {
		return big.NewInt(whole(v))
	}
	digits := v.ByteArray()
	value := new(big.Int).SetBytes(digits)
	if len(digits) > 0 && digits[0]&0x80 != 0 {
		value.Sub(value, new(big.Int).Lsh(big.NewInt(1), uint(8*len(digits))))
	}
	return value
}

// appendDecimal keeps every digit.
func appendDecimal(to []byte, value *big.Int, scale int) []byte {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return append(append(to, 'n'), new(big.Rat).SetFrac(value, unit).FloatString(scale)...)
}

// appendFloat writes what is no number as a text.
func appendFloat(to []byte, value float64, bits int) []byte {
	switch {
	case math.IsNaN(value):
		return append(to, "sNaN"...)
	case math.IsInf(value, 1):
		return append(to, "sINF"...)
	case math.IsInf(value, -1):
		return append(to, "s-INF"...)
	default:
		return strconv.AppendFloat(append(to, 'n'), value, 'g', -1, bits)
	}
}

// half is a floating-point number of 2 bytes (IEEE 754 binary16, little-endian).
func half(bytes []byte) float64 {
	const sign, infinity, moreFractionBits, infinity32 = 0x8000, 0x7c00, 13, 0x7f800000
	if len(bytes) != 2 {
		return math.NaN()
	}
	raw := uint32(bytes[1])<<8 | uint32(bytes[0])
	wide := raw &^ sign << moreFractionBits
	number := float64(math.Float32frombits(wide)) * 0x1p112 // The exponent of 4 bytes is that much lower.
	if raw&infinity == infinity {
		number = float64(math.Float32frombits(wide | infinity32))
	}
	if raw&sign != 0 {
		return -number
	}
	return number
}

// appendText writes bytes that are no text in base64.
func appendText(to, text []byte) []byte {
	to = append(to, 's')
	if !utf8.Valid(text) {
		return base64.StdEncoding.AppendEncode(to, text)
	}
	return append(to, text...)
}

// readable writes bytes as texts in a list, a map or a group, and floating-point numbers that JSON does not have.
//
//nolint:gochecknoglobals // It is constant.
var readable = jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(to *jsontext.Encoder, value []byte) error {
		if !utf8.Valid(value) {
			return errors.ErrUnsupported
		}
		return to.WriteToken(jsontext.String(string(value)))
	}),
	jsonv2.MarshalToFunc(func(to *jsontext.Encoder, value float64) error {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			return errors.ErrUnsupported
		}
		return to.WriteToken(jsontext.String(strconv.FormatFloat(value, 'g', -1, 64)))
	}),
))
