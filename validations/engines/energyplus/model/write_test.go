package model

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Write writes dictionaries, oldest version first, as tables that share what the versions have in common.
func Write(to io.Writer, dictionaries []*Dictionary) error {
	versions := []string{}
	masks := map[string]uint64{}
	for bit, d := range dictionaries {
		versions = append(versions, d.Version)
		for _, class := range d.Classes {
			description, err := json.Marshal(class)
			if err != nil {
				return fmt.Errorf("write class %s: %w", class.Name, err)
			}
			masks[string(description)] |= 1 << bit
		}
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write dictionaries: %w", err)
	}
	plain := bufio.NewWriter(packed)
	fmt.Fprintln(plain, strings.Join(versions, " "))
	for _, description := range slices.Sorted(maps.Keys(masks)) {
		fmt.Fprintf(plain, "%x\t%s\n", masks[description], description)
	}
	if err := errors.Join(plain.Flush(), packed.Close()); err != nil {
		return fmt.Errorf("write dictionaries: %w", err)
	}
	return nil
}

// TestTablesAreReadAsTheyAreWritten writes anew what is read of the tables.
func TestTablesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	dictionaries := []*Dictionary{}
	for _, version := range Versions() {
		d := LoadDictionary(version)
		dictionaries = append(dictionaries, d)
	}
	var written bytes.Buffer
	if err := Write(&written, dictionaries); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(unpacked(t, &written), unpacked(t, strings.NewReader(tables))) {
		t.Error("the tables differ from what is read of them")
	}
}

func unpacked(tb testing.TB, packed io.Reader) []byte {
	tb.Helper()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
