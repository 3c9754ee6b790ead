package model

import (
	"slices"
	"strings"
)

// looseReferences are fields for which EnergyPlus simulates models although the named object is not there, by class.
// Either it reads the field only in some modes, or its dictionary leaves out objects that it accepts. The example files
// of EnergyPlus show it.
var looseReferences = map[string][]string{
	"AirflowNetwork:Distribution:DuctViewFactors": {"linkage_name"},
	"AirflowNetwork:IntraZone:Linkage":            {"component_name"},
	"AirflowNetwork:MultiZone:Surface":            {"external_node_name"},
	"AirflowNetwork:MultiZone:Zone": {
		"ventilation_control_zone_temperature_setpoint_schedule_name",
	},
	"Coil:Cooling:DX:SingleSpeed":                              {"zone_name_for_condenser_placement"},
	"Controller:OutdoorAir":                                    {"mechanical_ventilation_controller_name"},
	"ExternalInterface:FunctionalMockupUnitImport:To:Schedule": {"fmu_file_name"},
	"Fan:OnOff": {
		"fan_efficiency_ratio_function_of_speed_ratio_curve_name", "fan_power_ratio_function_of_speed_ratio_curve_name",
	},
	"HeatPump:PlantLoop:EIR:Cooling":             {"companion_heat_pump_name"},
	"HeatPump:PlantLoop:EIR:Heating":             {"companion_heat_pump_name"},
	"PlantEquipmentOperation:CoolingLoad":        {"range_1_equipment_list_name", "range_equipment_list_name"},
	"PlantLoop":                                  {"availability_manager_list_name"},
	"Pump:ConstantSpeed":                         {"pump_flow_rate_schedule_name"},
	"Refrigeration:Case":                         {"defrost_energy_correction_curve_name"},
	"Sizing:Plant":                               {"plant_or_condenser_loop_name"},
	"SurfaceProperty:LocalEnvironment":           {"exterior_surface_name"},
	"WindowMaterial:Glazing":                     {"window_glass_spectral_data_set_name"},
	"ZoneAirContaminantBalance":                  {"outdoor_carbon_dioxide_schedule_name"},
	"ZoneHVAC:Baseboard:RadiantConvective:Steam": {"design_object"},
	"ZoneHVAC:Baseboard:RadiantConvective:Water": {"design_object"},
	"ZoneControl:ContaminantController":          {"minimum_carbon_dioxide_concentration_schedule_name"},
}

// looseLists are reference lists for which the same is true of every field: a program may be written in Python, and a
// schedule may do without its limits.
var looseLists = []string{"ProgramNames", "ScheduleTypeLimitsNames"}

// furtherLists are lists of names that EnergyPlus accepts in a field although its dictionary does not say so, by class
// and field. The multiplier is for windows alone, but the dictionary names the list of walls.
var furtherLists = map[string]map[string][]string{
	"SurfaceProperty:IncidentSolarMultiplier": {"surface_name": {"SubSurfNames"}},
}

// furtherTypes are classes that a list of classes lacks in the dictionary. EnergyPlus has an example with them.
var furtherTypes = map[string][]string{
	"validbranchequipmenttypes": fuelFired,
	"validplantequipmenttypes":  fuelFired,
}

var fuelFired = []string{"HeatPump:AirToWater:FuelFired:Cooling", "HeatPump:AirToWater:FuelFired:Heating"}

// isLoose reports whether EnergyPlus may simulate the model although the reference leads nowhere.
func isLoose(o *Object, f *FieldSpec) bool {
	if slices.Contains(looseReferences[o.Spec.Name], f.Name) {
		return true
	}
	if o.Spec.Name == "People" && f.Name == "surface_name_angle_factor_list_name" {
		// EnergyPlus reads it only where it calculates with the surfaces of a zone.
		const calculation = "mean_radiant_temperature_calculation_type"
		return !o.Is(calculation, "SurfaceWeighted") && !o.Is(calculation, "AngleFactor")
	}
	return slices.ContainsFunc(looseLists, func(list string) bool { return strings.EqualFold(f.Refers[0], list) })
}
