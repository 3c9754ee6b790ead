package energyplus

import "strings"

// modelGroup is a set of classes whose objects are known by one set of names.
type modelGroup string

// The groups that references lead to.
const (
	groupZone         modelGroup = "zone"
	groupZoneList     modelGroup = "zone list"
	groupSpace        modelGroup = "space"
	groupSpaceList    modelGroup = "space list"
	groupSurface      modelGroup = "surface"
	groupConstruction modelGroup = "construction"
	groupMaterial     modelGroup = "material"
	groupSchedule     modelGroup = "schedule"
	groupWeek         modelGroup = "week schedule"
	groupDay          modelGroup = "day schedule"
	groupLimits       modelGroup = "schedule type limits"
)

// modelClass is what is known of a class. Of most of EnergyPlus' classes nothing is.
type modelClass struct {
	group modelGroup
	// noName says that the first field is no name.
	noName bool
	// fewest and most are the numbers of fields in an IDF, 0 where unknown.
	fewest, most int
	references   []modelReference
}

// modelReference is a field that names another object. In an IDF it stands at first, and then every step fields where
// step is not 0; where first is 0 the place differs between versions and only epJSON is checked.
type modelReference struct {
	to          []modelGroup
	names       []string
	first, step int
}

// groupOf returns the group of a class by its key, "" where it has none.
func groupOf(class string, spec *modelClass) modelGroup {
	if spec != nil && spec.group != "" {
		return spec.group
	}
	for _, family := range []struct {
		prefix string
		group  modelGroup
	}{
		{"material:", groupMaterial},
		{"windowmaterial:", groupMaterial},
		{"construction:", groupConstruction},
		{"schedule:week:", groupWeek},
		{"schedule:day:", groupDay},
		{"externalinterface:schedule", groupSchedule},
		{"externalinterface:functionalmockupunit", groupSchedule},
	} {
		if strings.HasPrefix(class, family.prefix) {
			return family.group
		}
	}
	return ""
}

// simpleSurfaces are the classes of surfaces whose corners follow from few fields.
var simpleSurfaces = []string{
	"Wall:Exterior", "Wall:Adiabatic", "Wall:Underground", "Wall:Interzone", "Roof", "Ceiling:Adiabatic",
	"Ceiling:Interzone", "Floor:GroundContact", "Floor:Adiabatic", "Floor:Interzone",
}

func toZone(first int) modelReference {
	return modelReference{to: []modelGroup{groupZone}, names: []string{"zone_name"}, first: first}
}

// toZones leads to a zone or a list of zones, since version 9.6 also to a space or a list of those.
func toZones(first int) modelReference {
	return modelReference{
		to: []modelGroup{groupZone, groupZoneList, groupSpace, groupSpaceList},
		names: []string{
			"zone_or_zonelist_or_space_or_spacelist_name", "zone_or_zonelist_name", "zone_or_space_name", "zone_name",
		},
		first: first,
	}
}

func toNamed(group modelGroup, first int, names ...string) modelReference {
	return modelReference{to: []modelGroup{group}, names: names, first: first}
}

func every(step int, r modelReference) modelReference {
	r.step = step
	return r
}

// knownClasses is what is known of classes, by their keys. Nothing changes it.
//
//nolint:gochecknoglobals // a table that is put together of parts
var knownClasses = modelClasses()

// modelClasses returns what is known of classes, by their keys.
func modelClasses() map[string]*modelClass {
	classes := map[string]*modelClass{}
	for _, part := range []map[string]*modelClass{
		generalClasses(), surfaceClasses(), materialClasses(), scheduleClasses(), gainClasses(), controlClasses(),
	} {
		for name, class := range part {
			classes[foldName(name)] = class
		}
	}
	return classes
}

// named is a class whose first field is a name. A number of fields that is not known is 0.
func named(fewest, most int, references ...modelReference) *modelClass {
	return &modelClass{fewest: fewest, most: most, references: references}
}

// nameless is a class whose first field is no name of its own.
func nameless(fewest, most int, references ...modelReference) *modelClass {
	return &modelClass{noName: true, fewest: fewest, most: most, references: references}
}

// in puts a class into a group.
func (c *modelClass) in(group modelGroup) *modelClass {
	c.group = group
	return c
}

func generalClasses() map[string]*modelClass {
	return map[string]*modelClass{
		"Version":             nameless(1, 1),
		"Timestep":            nameless(1, 1),
		"SimulationControl":   nameless(0, 7),
		"GlobalGeometryRules": nameless(3, 5),
		"Building":            named(0, 8),
		"Zone":                named(1, 13).in(groupZone),
		"ZoneList":            named(2, 0, every(1, toNamed(groupZone, 2, "zone_name"))).in(groupZoneList),
		"ZoneGroup":           named(2, 3, toNamed(groupZoneList, 2, "zone_list_name")),
		"Space":               named(2, 0, toZone(2)).in(groupSpace),
		"SpaceList":           named(2, 0, every(1, toNamed(groupSpace, 2, "space_name"))).in(groupSpaceList),
	}
}

func surfaceClasses() map[string]*modelClass {
	const construction = "construction_name"
	classes := map[string]*modelClass{
		// These end with the coordinates of at least three corners.
		"BuildingSurface:Detailed": named(19, 0, toNamed(groupConstruction, 3, construction), toZone(4)).
			in(groupSurface),
		"FenestrationSurface:Detailed": named(18, 0,
			toNamed(groupConstruction, 3, construction), toNamed(groupSurface, 4, "building_surface_name")),
		"InternalMass": named(3, 5, toNamed(groupConstruction, 2, construction), toZones(3)),
	}
	for _, name := range []string{"Wall:Detailed", "RoofCeiling:Detailed", "Floor:Detailed"} {
		classes[name] = named(18, 0, toNamed(groupConstruction, 2, construction), toZone(3)).in(groupSurface)
	}
	for _, name := range simpleSurfaces {
		classes[name] = named(3, 12, toNamed(groupConstruction, 2, construction), toZone(3)).in(groupSurface)
	}
	for _, name := range []string{
		"Window", "Door", "GlazedDoor", "Window:Interzone", "Door:Interzone", "GlazedDoor:Interzone",
	} {
		classes[name] = named(3, 10,
			toNamed(groupConstruction, 2, construction), toNamed(groupSurface, 3, "building_surface_name"))
	}
	return classes
}

func materialClasses() map[string]*modelClass {
	layers := []string{
		"outside_layer", "layer_2", "layer_3", "layer_4", "layer_5", "layer_6", "layer_7", "layer_8", "layer_9",
		"layer_10",
	}
	return map[string]*modelClass{
		"Material":                           named(6, 9).in(groupMaterial),
		"Material:NoMass":                    named(3, 6),
		"Material:AirGap":                    named(2, 2),
		"WindowMaterial:SimpleGlazingSystem": named(3, 4),
		"Construction": named(2, 11, every(1, toNamed(groupMaterial, 2, layers...))).
			in(groupConstruction),
		"Construction:InternalSource": named(0, 0, toNamed(groupMaterial, 0, layers...)),
	}
}

func scheduleClasses() map[string]*modelClass {
	limits := toNamed(groupLimits, 2, "schedule_type_limits_name")
	days := []string{}
	for _, day := range []string{
		"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "holiday", "summerdesignday",
		"winterdesignday", "customday1", "customday2",
	} {
		days = append(days, day+"_schedule_day_name")
	}
	return map[string]*modelClass{
		"ScheduleTypeLimits":    named(1, 5).in(groupLimits),
		"Schedule:Constant":     named(1, 3, limits).in(groupSchedule),
		"Schedule:Compact":      named(5, 0, limits).in(groupSchedule),
		"Schedule:File":         named(4, 0, limits).in(groupSchedule),
		"Schedule:Day:Hourly":   named(3, 26, limits),
		"Schedule:Day:Interval": named(5, 0, limits),
		"Schedule:Day:List":     named(5, 0, limits),
		"Schedule:Week:Daily":   named(13, 13, every(1, toNamed(groupDay, 2, days...))),
		"Schedule:Week:Compact": named(3, 0, every(2, toNamed(groupDay, 3, "schedule_day_name"))),
		"Schedule:Year": named(7, 0, limits, every(5, toNamed(groupWeek, 3, "schedule_week_name"))).
			in(groupSchedule),
	}
}

func gainClasses() map[string]*modelClass {
	classes := map[string]*modelClass{
		"People": named(0, 0,
			toZones(2),
			toNamed(groupSchedule, 3, "number_of_people_schedule_name"),
			toNamed(groupSchedule, 10, "activity_level_schedule_name"),
			toNamed(groupSchedule, 15, "work_efficiency_schedule_name"),
			toNamed(groupSchedule, 17, "clothing_insulation_calculation_method_schedule_name"),
			toNamed(groupSchedule, 18, "clothing_insulation_schedule_name"),
			toNamed(groupSchedule, 19, "air_velocity_schedule_name"),
		),
		"OtherEquipment": named(0, 0, toZones(3), toNamed(groupSchedule, 4, "schedule_name")),
	}
	for _, name := range []string{
		"Lights", "ElectricEquipment", "GasEquipment", "HotWaterEquipment", "SteamEquipment",
		"ZoneInfiltration:DesignFlowRate", "ZoneInfiltration:EffectiveLeakageArea", "ZoneInfiltration:FlowCoefficient",
		"ZoneVentilation:DesignFlowRate",
	} {
		classes[name] = named(0, 0, toZones(2), toNamed(groupSchedule, 3, "schedule_name"))
	}
	return classes
}

func controlClasses() map[string]*modelClass {
	setpoint := toNamed(groupSchedule, 2, "setpoint_temperature_schedule_name")
	return map[string]*modelClass{
		"ThermostatSetpoint:SingleHeating":          named(2, 2, setpoint),
		"ThermostatSetpoint:SingleCooling":          named(2, 2, setpoint),
		"ThermostatSetpoint:SingleHeatingOrCooling": named(2, 2, setpoint),
		"ThermostatSetpoint:DualSetpoint": named(3, 3,
			toNamed(groupSchedule, 2, "heating_setpoint_temperature_schedule_name"),
			toNamed(groupSchedule, 3, "cooling_setpoint_temperature_schedule_name"),
		),
		"ZoneControl:Thermostat": named(0, 0, toZones(2), toNamed(groupSchedule, 3, "control_type_schedule_name")),
		"HVACTemplate:Thermostat": named(0, 5,
			toNamed(groupSchedule, 2, "heating_setpoint_schedule_name"),
			toNamed(groupSchedule, 4, "cooling_setpoint_schedule_name"),
		),
		"HVACTemplate:Zone:IdealLoadsAirSystem": nameless(0, 0, toZone(1)),
		"Sizing:Zone":                           nameless(0, 0, toZones(1)),
		"ZoneHVAC:EquipmentConnections":         nameless(0, 0, toZone(1)),
	}
}
