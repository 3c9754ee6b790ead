package model

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Write writes dictionaries, oldest version first, as tables that share what the versions have in common.
func Write(to io.Writer, dictionaries []*Dictionary) error {
	versions := []string{}
	masks := map[string]uint64{}
	for bit, d := range dictionaries {
		versions = append(versions, d.Version)
		for _, class := range d.Classes {
			masks[formatClass(class)] |= 1 << bit
		}
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write dictionaries: %w", err)
	}
	plain := bufio.NewWriter(packed)
	fmt.Fprintln(plain, strings.Join(versions, " "))
	descriptions := make([]string, 0, len(masks))
	for description := range masks {
		descriptions = append(descriptions, description)
	}
	slices.Sort(descriptions)
	for _, description := range descriptions {
		fmt.Fprintf(plain, "%x%s%s\n", masks[description], partSeparator, description)
	}
	if err := errors.Join(plain.Flush(), packed.Close()); err != nil {
		return fmt.Errorf("write dictionaries: %w", err)
	}
	return nil
}

func formatClass(c *Class) string {
	flags := ""
	if c.Unique {
		flags += "u"
	}
	if c.Required {
		flags += "r"
	}
	parts := []string{c.Name, flags, strings.Join(c.TypeLists, listSeparator)}
	if c.Label != nil {
		parts = append(parts, labelMark+formatField(c.Label))
	}
	for _, f := range c.Fields {
		parts = append(parts, formatField(f))
	}
	if g := c.Repeated; g != nil {
		bounds := []string{groupMark + g.Name, strconv.Itoa(g.Least), strconv.Itoa(g.Most)}
		parts = append(parts, strings.Join(bounds, attributeSeparator))
		for _, f := range g.Fields {
			parts = append(parts, formatField(f))
		}
	}
	return strings.Join(parts, partSeparator)
}

func formatField(f *FieldSpec) string {
	attributes := []string{f.Name, string(f.Kind)}
	if f.Required {
		attributes = append(attributes, "r")
	}
	for _, bound := range []struct {
		sign string
		Bound
	}{{">", f.Minimum}, {"<", f.Maximum}} {
		if !bound.Set {
			continue
		}
		sign := bound.sign
		if !bound.Exclusive {
			sign += "="
		}
		attributes = append(attributes, sign+strconv.FormatFloat(bound.Value, 'g', -1, 64))
	}
	for _, list := range []struct {
		key    string
		values []string
	}{{"c", f.Choices}, {"w", f.Words}, {"o", f.Refers}, {"l", f.Gives}} {
		if len(list.values) > 0 {
			attributes = append(attributes, list.key+strings.Join(list.values, listSeparator))
		}
	}
	if f.Units != "" {
		attributes = append(attributes, "u"+f.Units)
	}
	if f.Default != "" {
		attributes = append(attributes, "d"+f.Default)
	}
	return strings.Join(attributes, attributeSeparator)
}
