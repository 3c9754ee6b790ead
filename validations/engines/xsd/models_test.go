//go:build !slow

package xsd_test

// models is how many random content models are compared.
const models = 40
