package tablefile

import (
	"bytes"
	"errors"
	"hash/crc32"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

var errChecksum = errors.New("a page does not have its checksum")

// checkDictionaries compares the checksums of dictionaries, because the library compares only those of the pages that
// follow. What else is wrong with a page is found when it is read.
func checkDictionaries(file *parquet.File, content []byte) error {
	var protocol thrift.CompactProtocol
	for _, group := range file.Metadata().RowGroups {
		for _, chunk := range group.Columns {
			at := chunk.MetaData.DictionaryPageOffset
			if at <= 0 || at >= int64(len(content)) {
				continue
			}
			reader := bytes.NewReader(content[at:])
			header := new(format.PageHeader)
			if err := thrift.NewDecoder(protocol.NewReader(reader)).Decode(header); err != nil {
				continue
			}
			page := content[len(content)-reader.Len():]
			size := int(header.CompressedPageSize)
			if header.CRC == 0 || size < 0 || size > len(page) {
				continue
			}
			if crc32.ChecksumIEEE(page[:size]) != uint32(header.CRC) { //nolint:gosec // the bits of the checksum
				return errChecksum
			}
		}
	}
	return nil
}
