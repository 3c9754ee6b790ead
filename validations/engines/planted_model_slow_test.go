//go:build slow

package engines_test

import (
	"strconv"
	"strings"
)

// headOfModel has what a model has once. Each of its classes may be there only once.
const headOfModel = `! A row of rooms.
Version, 23.2;
SimulationControl;
Timestep, 4;
HeatBalanceAlgorithm, ConductionTransferFunction, 200;
ZoneAirHeatBalanceAlgorithm, ThirdOrderBackwardDifference;
SurfaceConvectionAlgorithm:Inside, TARP;
SurfaceConvectionAlgorithm:Outside, DOE-2;
ConvergenceLimits, 1, 25, 2, 8;
ShadowCalculation, PolygonClipping, Periodic, 20, 15000;
Building, Row, 0, City, 0.04, 0.4, FullExterior, 25, 6;
GlobalGeometryRules, UpperLeftCorner, Counterclockwise, World;
Site:Location, Chicago, 41.98, -87.92, -6, 201;
ScheduleTypeLimits, Fraction, 0, 1, Continuous;
ScheduleTypeLimits, Anything;
`

// roomOfModel has what each room has; # is its number, @ its place.
const roomOfModel = `
Zone,
  Room #,                  !- Name
  0, 0, 0, 0, 1, 1;        !- Direction, Origin, Type, Multiplier

Material,
  Brick #,                 !- Name
  MediumRough,             !- Roughness
  0.24,                    !- Thickness {m}
  0.89,                    !- Conductivity {W/m-K}
  1920,                    !- Density {kg/m3}
  790,                     !- Specific Heat {J/kg-K}
  0.9, 0.7, 0.7;           !- Absorptances

Construction,
  Wall #,                  !- Name
  Brick #;                 !- Outside Layer

WindowMaterial:SimpleGlazingSystem, Pane #, 1.6, 0.5, 0.6;

Construction,
  Glass #,                 !- Name
  Pane #;                  !- Outside Layer

BuildingSurface:Detailed,
  South #, Wall, Wall #, Room #, , Outdoors, , SunExposed, WindExposed, 0.5,
  4,                       !- Number of Vertices
  @,0,3,  @,0,0,  @+5,0,0,  @+5,0,3;

BuildingSurface:Detailed,
  North #, Wall, Wall #, Room #, , Outdoors, , SunExposed, WindExposed, 0.5,
  4,                       !- Number of Vertices
  @+5,6,3,  @+5,6,0,  @,6,0,  @,6,3;

BuildingSurface:Detailed,
  West #, Wall, Wall #, Room #, , Adiabatic, , NoSun, NoWind, 0.5,
  4,                       !- Number of Vertices
  @,6,3,  @,6,0,  @,0,0,  @,0,3;

BuildingSurface:Detailed,
  East #, Wall, Wall #, Room #, , Adiabatic, , NoSun, NoWind, 0.5,
  4,                       !- Number of Vertices
  @+5,0,3,  @+5,0,0,  @+5,6,0,  @+5,6,3;

BuildingSurface:Detailed,
  Floor #, Floor, Wall #, Room #, , Ground, , NoSun, NoWind, 0,
  4,                       !- Number of Vertices
  @,0,0,  @,6,0,  @+5,6,0,  @+5,0,0;

BuildingSurface:Detailed,
  Roof #, Roof, Wall #, Room #, , Outdoors, , SunExposed, WindExposed, 0,
  4,                       !- Number of Vertices
  @,6,3,  @,0,3,  @+5,0,3,  @+5,6,3;

FenestrationSurface:Detailed,
  Window #, Window, Glass #, South #, , 0.5, , 1, 4,
  @+1,0,2,  @+1,0,1,  @+4,0,1,  @+4,0,2;

Schedule:Compact,
  Hours #,                 !- Name
  Fraction,                !- Schedule Type Limits Name
  Through: 6/30,           !- Field 1
  For: Weekdays,           !- Field 2
  Until: 18:00, 1,         !- Field 3
  Until: 24:00, 0,         !- Field 5
  For: AllOtherDays,       !- Field 7
  Until: 24:00, 0,         !- Field 8
  Through: 12/31,          !- Field 10
  For: AllDays,            !- Field 11
  Until: 24:00, 0.5;       !- Field 12

Schedule:Constant, Activity #, Anything, 120;
Schedule:Day:Interval, Day #, Fraction, No, 8:00, 0, 24:00, 1;
Schedule:Week:Daily, Week #, Day #, Day #, Day #, Day #, Day #, Day #, Day #, Day #, Day #, Day #, Day #, Day #;
Schedule:Year, Year #, Fraction, Week #, 1, 1, 12, 31;

People,
  People #,                !- Name
  Room #,                  !- Zone
  Hours #,                 !- Number of People Schedule Name
  People,                  !- Number of People Calculation Method
  4, , , 0.3, Autocalculate,
  Activity #;              !- Activity Level Schedule Name

Lights,
  Lights #,                !- Name
  Room #,                  !- Zone
  Year #,                  !- Schedule Name
  Watts/Area,              !- Design Level Calculation Method
  , 8, , 0, 0.4, 0.2;      !- Fractions

Curve:Quadratic, Curve #, 1, 0, 0, 0, 1;

Boiler:HotWater,
  Boiler #, NaturalGas, 20000, 0.8, LeavingBoiler, , Autosize, 0, 1, 1,
  Boiler In #,             !- Boiler Water Inlet Node Name
  Boiler Out #;            !- Boiler Water Outlet Node Name

Branch,
  Branch #,                !- Name
  ,                        !- Pressure Drop Curve Name
  Boiler:HotWater,         !- Component 1 Object Type
  Boiler #,                !- Component 1 Name
  Boiler In #,             !- Component 1 Inlet Node Name
  Boiler Out #;            !- Component 1 Outlet Node Name

BranchList,
  Branches #,              !- Name
  Branch #;                !- Branch 1 Name

Pump:ConstantSpeed,
  Pump #, Pump In #, Pump Out #, Autosize, 179352, Autosize, 0.9, 0, Continuous,
  Hours #,                 !- Pump Flow Rate Schedule Name
  Curve #;                 !- Pump Curve Name
`

// goodModel is a row of rooms, each with its own schedules, windows and water loop.
func goodModel() string {
	var b strings.Builder
	b.WriteString(headOfModel)
	for i := range plantedPlaces {
		places := []string{"#", strconv.Itoa(i + 1)}
		for _, east := range []int{5, 4, 1} {
			places = append(places, "@+"+strconv.Itoa(east), strconv.Itoa(i*5+east))
		}
		b.WriteString(strings.NewReplacer(append(places, "@", strconv.Itoa(i*5))...).Replace(roomOfModel))
	}
	return b.String()
}

func modelFaults() []plantedFault {
	const class = `(?m)^(Zone|Material|Construction|BuildingSurface:Detailed|Schedule:Compact|People|Branch|Lights),`
	const unique = `(?m)^(Version|SimulationControl|Timestep|Heat|ZoneAir|Surface|Conv|Shadow|Building|Global|Site).*;$`
	const named = `(?m)^(WindowMaterial:SimpleGlazingSystem|Schedule:Constant|Schedule:Day:Interval|` +
		`Curve:Quadratic),.*;$`
	const window = `(FenestrationSurface:Detailed,\n.*\n).*;`
	faults := []plantedFault{
		{"misspelt class", class, "$1x,", "unknown_class", 0},
		{"class that does not exist", class, "Nothing:Known,", "unknown_class", 0},
		{"class with a colon too many", class, "$1:,", "unknown_class", 0},
		{"second object of a unique class", unique, "$0\n$0", "repeated_object", 1},
		{"name used twice", named, "$0\n$0", "duplicate_name", 1},
		{
			"name used twice in capitals", `Schedule:Constant, Activity (\d+), Anything, 120;`,
			"$0\nSchedule:Constant, ACTIVITY $1, Anything, 120;", "duplicate_name", 1,
		},
		{"name missing", `Schedule:Constant, Activity \d+`, "Schedule:Constant, ", "name_missing", 0},
		{"fields too many", `(?m)^Schedule:Constant.*120`, "$0,1,1", "field_count", 0},
		{"semicolon missing", `(?m)^(Schedule:Constant.*);`, "$1,", "field_count", 0},
		{"comma missing at the end of a line", `(?m)^(  Brick \d+),`, "$1 ", "malformed", 0},

		{"word in place of a number", `, 1\.6,`, ", abc,", "field_type", 0},
		{"number with a unit", `, 1\.6,`, ", 1.6 m,", "field_type", 0},
		{"number with a letter", `, 1\.6,`, ", 1.6O,", "field_type", 0},
		{"number with two points", `, 1\.6,`, ", 1.6.0.0,", "field_type", 0},
		{"fraction in place of an integer", `0, 0, 0, 0, 1, 1;`, "0, 0, 0, 0, 1, 1.5;", "field_type", 0},
		{"number below its minimum", `0\.9, 0\.7, 0\.7;`, "0.9, -0.7, 0.7;", "field_range", 0},
		{"number above its maximum", `0\.9, 0\.7, 0\.7;`, "0.9, 1.7, 0.7;", "field_range", 0},
		{"number at a minimum that is excluded", `(?m)^  1920,`, "  0,", "field_range", 0},
		{"number at a maximum that is excluded", `, 1\.6, 0\.5,`, ", 1.6, 1,", "field_range", 0},
		{"misspelt choice", `MediumRough`, "MediumRoguh", "field_choice", 0},
		{"choice that does not exist", `MediumRough`, "Whatever", "field_choice", 0},
		{"required field blank", `(WindowMaterial:SimpleGlazingSystem, Pane \d+), 1\.6`, "$1, ", "field_missing", 0},

		{"zone that does not exist", `(?m)^  Room (\d+), +!- Zone$`, "  Room $1x,", "unknown_zone", 0},
		{"construction that does not exist", `Window, Glass (\d+)`, "Window, Glass $1x", "unknown_construction", 0},
		{"material that does not exist", `  Brick (\d+);`, "  Brick $1x;", "unknown_material", 0},
		{"schedule that does not exist", `Hours (\d+), +!- Number of`, "Hours $1x, !-", "unknown_schedule", 0},
		{"week that does not exist", `Fraction, Week (\d+)`, "Fraction, Week $1x", "unknown_week_schedule", 0},
		{"day that does not exist", `(Week:Daily, Week \d+, Day \d+)`, "$1x", "unknown_day_schedule", 0},
		{"surface that does not exist", `(Window, Glass \d+, South \d+)`, "$1x", "unknown_surface", 0},
		{"branch that does not exist", `  Branch (\d+);`, "  Branch $1x;", "unknown_object", 0},
		{"component that does not exist", `Boiler (\d+), +!- Component`, "Boiler $1x, !-", "unknown_object", 0},
		{"component of a class that does not exist", `Boiler:HotWater, +!-`, "Boiler:HotWaterx, !-", "unknown_type", 0},
		{"curve that does not exist", `Curve (\d+);`, "Curve $1x;", "unknown_object", 0},
		{
			"material that was removed", `(?s)Material,\n  Brick (\d+),[^;]*;([^;]*Brick \d+;)`, "$2",
			"unknown_material", 4,
		},

		{"more vertices stated than given", `  4, +!- Number of Vertices`, "  40,", "vertex_count", 0},
		{"coordinate missing", `(BuildingSurface:Detailed,\n.*\n.*\n.*,)3;`, "$1;", "field_missing", 0},
		{"all vertices in one place", window, "$1 1,1,1, 1,1,1, 1,1,1, 1,1,1;", "no_area", 0},
		{"two vertices", window, "$1 1,0,2, 1,0,1;", "vertex_count", 0},

		{"day that does not exist in a schedule", `Through: 6/30`, "Through: 13/45", "schedule", 0},
		{"days that do not exist in a schedule", `For: Weekdays`, "For: Someone", "schedule", 0},
		{"time that does not exist in a schedule", `Until: 18:00`, "Until: 25:00", "schedule", 0},
		{"misspelt word in a schedule", `Until: 18:00`, "Up to 18:00", "schedule", 0},
		{"word in place of a value in a schedule", `Until: 18:00, 1`, "Until: 18:00, abc", "schedule", 0},
	}
	for i := range faults {
		faults[i].codes = "energyplus." + faults[i].codes
	}
	return faults
}
