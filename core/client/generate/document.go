package main

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// document is what of an OpenAPI document the clients are made of.
type document struct {
	Paths      ordered[ordered[yaml.Node]] `yaml:"paths"`
	Components struct {
		Schemas    ordered[schema]      `yaml:"schemas"`
		Parameters map[string]parameter `yaml:"parameters"`
	} `yaml:"components"`
}

type operation struct {
	ID          string           `yaml:"operationId"`
	Summary     string           `yaml:"summary"`
	Description string           `yaml:"description"`
	Parameters  []parameter      `yaml:"parameters"`
	RequestBody message          `yaml:"requestBody"`
	Responses   ordered[message] `yaml:"responses"`
}

type parameter struct {
	Ref         string `yaml:"$ref"`
	Name        string `yaml:"name"`
	In          string `yaml:"in"`
	Description string `yaml:"description"`
	Schema      schema `yaml:"schema"`
}

type message struct {
	Content ordered[struct {
		Schema schema `yaml:"schema"`
	}] `yaml:"content"`
}

type schema struct {
	Ref         string          `yaml:"$ref"`
	Description string          `yaml:"description"`
	Type        names           `yaml:"type"`
	Format      string          `yaml:"format"`
	Enum        []string        `yaml:"enum"`
	Default     any             `yaml:"default"`
	Items       *schema         `yaml:"items"`
	OneOf       []schema        `yaml:"oneOf"`
	Properties  ordered[schema] `yaml:"properties"`
	Required    []string        `yaml:"required"`
}

func (s schema) nullable() bool { return slices.Contains(s.Type, "null") }

// names is a name or a list of names.
type names []string

// UnmarshalYAML reads either.
func (n *names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*n = names{node.Value}
		return nil
	}
	return node.Decode((*[]string)(n))
}

// ordered is a mapping in the order of the document.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

// UnmarshalYAML reads the members one by one.
func (o *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		m := member[T]{name: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&m.value); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		*o = append(*o, m)
	}
	return nil
}

func (o ordered[T]) find(name string) (T, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	var none T
	return none, false
}
