module github.com/simplevalidations/simplevalidations/validations/programs/ids

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/simplevalidations/simplevalidations v0.0.0
	github.com/simplevalidations/simplevalidations/validations/programs/schematron v0.0.0
	golang.org/x/text v0.43.0
)

replace (
	github.com/simplevalidations/simplevalidations => ../../..
	github.com/simplevalidations/simplevalidations/validations/programs/schematron => ../schematron
)
