package ifc

// Mapping is a class that IFC2X3 does not have itself: objects of one class are of it by the class of their type.
type Mapping struct {
	Name             string
	Occurrence, Type *Class
}

// Mapped are the classes that IDS knows in IFC2X3 beyond its own; other schemas have none.
func (s *Schema) Mapped() []Mapping {
	return s.mapped
}

// occurrences are the classes of IFC2X3 with the endings of the classes that IDS makes of them.
var occurrences = map[string][]string{
	"IFCFURNISHINGELEMENT":          {"FURNITURE", "SYSTEMFURNITUREELEMENT"},
	"IFCDISTRIBUTIONCONTROLELEMENT": {"ACTUATOR", "ALARM", "CONTROLLER", "FLOWINSTRUMENT", "SENSOR"},
	"IFCENERGYCONVERSIONDEVICE": {
		"AIRTOAIRHEATRECOVERY", "BOILER", "CHILLER", "COIL", "CONDENSER", "COOLEDBEAM", "COOLINGTOWER",
		"ELECTRICGENERATOR", "ELECTRICMOTOR", "EVAPORATIVECOOLER", "EVAPORATOR", "HEATEXCHANGER", "HUMIDIFIER",
		"MOTORCONNECTION", "TRANSFORMER", "TUBEBUNDLE", "UNITARYEQUIPMENT",
	},
	"IFCFLOWCONTROLLER": {
		"AIRTERMINALBOX", "DAMPER", "ELECTRICTIMECONTROL", "FLOWMETER", "PROTECTIVEDEVICE", "SWITCHINGDEVICE", "VALVE",
	},
	"IFCFLOWFITTING":       {"CABLECARRIERFITTING", "DUCTFITTING", "JUNCTIONBOX", "PIPEFITTING"},
	"IFCFLOWMOVINGDEVICE":  {"COMPRESSOR", "FAN", "PUMP"},
	"IFCFLOWSEGMENT":       {"CABLECARRIERSEGMENT", "CABLESEGMENT", "DUCTSEGMENT", "PIPESEGMENT"},
	"IFCFLOWSTORAGEDEVICE": {"ELECTRICFLOWSTORAGEDEVICE", "TANK"},
	"IFCFLOWTERMINAL": {
		"AIRTERMINAL", "ELECTRICAPPLIANCE", "FIRESUPPRESSIONTERMINAL", "LAMP", "LIGHTFIXTURE", "OUTLET",
		"SANITARYTERMINAL", "SPACEHEATER", "STACKTERMINAL", "WASTETERMINAL",
	},
	"IFCFLOWTREATMENTDEVICE": {"DUCTSILENCER", "FILTER"},
	"IFCELEMENTCOMPONENT":    {"VIBRATIONISOLATOR"},
}

// mapOccurrences finds the classes that the objects of IFC2X3 are of by their types.
func mapOccurrences(s *Schema) []Mapping {
	if s.Name != "IFC2X3" {
		return nil
	}
	var mapped []Mapping
	for _, occurrence := range s.Classes {
		for _, ending := range occurrences[occurrence.Name] {
			name := "IFC" + ending
			if of := s.Class(name + "TYPE"); of != nil && s.Class(name) == nil {
				mapped = append(mapped, Mapping{name, occurrence, of})
			}
		}
	}
	return mapped
}
