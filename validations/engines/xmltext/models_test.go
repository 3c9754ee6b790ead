//go:build !slow

package xmltext_test

// models is how many random content models are compared.
const models = 40
