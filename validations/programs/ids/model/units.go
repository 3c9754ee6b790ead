package model

import (
	"math"
	"strings"
)

// conversion makes a number of a unit one of SI: number * factor + offset.
type conversion struct{ factor, offset float64 }

// prefixes are those of units of SI.
//
//nolint:mnd // They are constants of a type for which Go has none.
var prefixes = map[string]float64{
	"EXA": 1e18, "PETA": 1e15, "TERA": 1e12, "GIGA": 1e9, "MEGA": 1e6, "KILO": 1e3, "HECTO": 1e2, "DECA": 10,
	"DECI": 1e-1, "CENTI": 1e-2, "MILLI": 1e-3, "MICRO": 1e-6, "NANO": 1e-9, "PICO": 1e-12, "FEMTO": 1e-15,
	"ATTO": 1e-18,
}

// unitOf is the kind of unit that a measure has: LENGTHUNIT for IFCLENGTHMEASURE.
func unitOf(measure string) string {
	if measure == "IFCTHERMALCONDUCTIVITYMEASURE" {
		return "THERMALCONDUCTANCEUNIT"
	}
	name, isMeasure := strings.CutSuffix(strings.TrimPrefix(measure, "IFC"), "MEASURE")
	if !isMeasure {
		return ""
	}
	return name + "UNIT"
}

// readUnits reads the units that the project assigns.
func (m *Model) readUnits() {
	for object := range m.file.Len() {
		if !m.Class(object).Is("IFCPROJECT") {
			continue
		}
		for assignment := range m.objects(object, m.named(object, "UnitsInContext")) {
			for unit := range m.objects(assignment, m.named(assignment, "Units")) {
				kind := m.text(unit, "UnitType")
				if _, known := m.units[kind]; kind != "" && !known {
					m.units[kind] = m.conversion(unit, 0)
				}
			}
		}
	}
}

// maxUnits is how deep units are made of others.
const maxUnits = 8

// conversion returns how a unit becomes one of SI. A unit that is not known is taken as it is.
func (m *Model) conversion(unit, depth int) conversion {
	same := conversion{factor: 1}
	class := m.Class(unit)
	if depth > maxUnits || !m.work.Spend(1) {
		return same
	}
	switch {
	case class.Is("IFCSIUNIT"):
		return siConversion(m.text(unit, "Prefix"), m.text(unit, "Name"))
	case class.Is("IFCCONVERSIONBASEDUNIT"):
		return m.basedConversion(unit, depth)
	case class.Is("IFCDERIVEDUNIT"):
		whole := same
		for element := range m.objects(unit, m.named(unit, "Elements")) {
			for part := range m.objects(element, m.named(element, "Unit")) {
				exponent, _ := m.named(element, "Exponent").Number()
				whole.factor *= math.Pow(m.conversion(part, depth+1).factor, exponent)
			}
		}
		return whole
	default:
		return same
	}
}

func siConversion(prefix, name string) conversion {
	factor, known := prefixes[prefix]
	if !known {
		factor = 1
	}
	switch name {
	case "SQUARE_METRE":
		return conversion{factor: factor * factor}
	case "CUBIC_METRE":
		return conversion{factor: factor * factor * factor}
	case "GRAM":
		// IDS has masses in kilograms.
		return conversion{factor: factor / prefixes["KILO"]}
	case "DEGREE_CELSIUS":
		const zero = 273.15
		return conversion{factor, zero}
	default:
		return conversion{factor: factor}
	}
}

// basedConversion is that of a unit which is so many of another, such as inches.
func (m *Model) basedConversion(unit, depth int) conversion {
	whole := conversion{factor: 1}
	for measure := range m.objects(unit, m.named(unit, "ConversionFactor")) {
		_, v := m.named(measure, "ValueComponent").Typed()
		if number, ok := v.Number(); ok {
			whole.factor = number
		}
		for part := range m.objects(measure, m.named(measure, "UnitComponent")) {
			whole.factor *= m.conversion(part, depth+1).factor
		}
	}
	if offset, ok := m.named(unit, "ConversionOffset").Number(); ok {
		whole.offset = offset
	}
	return whole
}

// InSI makes a number one of SI, by its own unit or else by that of the project. It returns false for other values.
func (m *Model) InSI(v Value) (float64, bool) {
	of, inside := v.Typed()
	if of == "" {
		of = v.of
	}
	number, ok := inside.Number()
	if !ok {
		return 0, false
	}
	if id, given := v.unit.Reference(); given {
		if own, kept := m.file.Find(id); kept {
			c := m.conversion(own, 0)
			return number*c.factor + c.offset, true
		}
	}
	kind := unitOf(m.schema.Measure(of))
	if c, known := m.units[kind]; known && kind != "" {
		return number*c.factor + c.offset, true
	}
	return number, true
}
