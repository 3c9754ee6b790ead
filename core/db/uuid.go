package db

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// registerIDs makes ids travel in binary. Without it they are texts that go through database/sql's Valuer, which costs
// a tenth of a start's CPU time.
func registerIDs(types *pgtype.Map) {
	id := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: idCodec{}}
	types.RegisterType(id)
	types.RegisterType(&pgtype.Type{
		Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: id},
	})
}

// idCodec copies ids that are not NULL directly. The embedded codec would wrap each one several times.
type idCodec struct {
	pgtype.UUIDCodec
}

// PlanEncode returns how a value is written.
func (c idCodec) PlanEncode( //nolint:ireturn // pgx demands it
	types *pgtype.Map, oid uint32, format int16, value any,
) pgtype.EncodePlan {
	if _, ok := value.(uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return idPlan{}
	}
	return c.UUIDCodec.PlanEncode(types, oid, format, value)
}

// PlanScan returns how a value is read.
func (c idCodec) PlanScan( //nolint:ireturn // pgx demands it
	types *pgtype.Map, oid uint32, format int16, target any,
) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return idPlan{}
	}
	return c.UUIDCodec.PlanScan(types, oid, format, target)
}

// idPlan writes and reads ids in binary.
type idPlan struct{}

// Encode appends an id.
func (idPlan) Encode(value any, buf []byte) ([]byte, error) {
	id, ok := value.(uuid.UUID)
	if !ok {
		return nil, fmt.Errorf("write a %T as an id", value)
	}
	return append(buf, id[:]...), nil
}

// Scan reads an id that is not NULL.
func (idPlan) Scan(src []byte, target any) error {
	id, ok := target.(*uuid.UUID)
	if !ok {
		return fmt.Errorf("read an id into a %T", target)
	}
	if len(src) != len(id) {
		return fmt.Errorf("read an id of %d bytes, want %d; NULL has none", len(src), len(id))
	}
	copy(id[:], src)
	return nil
}
