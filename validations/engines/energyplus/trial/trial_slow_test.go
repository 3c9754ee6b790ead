//go:build slow

// Package trial_test plants faults of many kinds in good models and looks whether each is found at its line.
package trial_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// rooms is how many rooms the good model has, each with its own schedules, windows and water loop.
const rooms = 10

// head has what a model has once. Each of its classes may be there only once.
const head = `! A row of rooms.
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

// room has what each room has; # is its number, @ its place.
const room = `
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

// row returns the good model.
func row() string {
	var b strings.Builder
	b.WriteString(head)
	for i := range rooms {
		places := []string{}
		for _, east := range []int{5, 4, 1, 0} {
			mark := fmt.Sprintf("@+%d", east)
			if east == 0 {
				mark = "@"
			}
			places = append(places, mark, strconv.Itoa(i*5+east))
		}
		b.WriteString(strings.NewReplacer(append(places, "#", strconv.Itoa(i+1))...).Replace(room))
	}
	return b.String()
}

func newEngine(t *testing.T) *energyplus.Engine {
	t.Helper()
	e, wrong := energyplus.Compile(json.RawMessage(`{}`), engine.DefaultLimits())
	if len(wrong) > 0 {
		t.Fatalf("compile: %v", wrong)
	}
	return e
}

func TestGoodModelHasNoFindings(t *testing.T) {
	t.Parallel()
	report, err := newEngine(t).Run(t.Context(), engine.NewDocument([]byte(row()), "", "row.idf"))
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("findings = %+v with %v, want none", report.Findings, err)
	}
}

func TestEveryPlantedFaultIsFoundAtItsLine(t *testing.T) {
	t.Parallel()
	scores := map[string]*score{}
	if err := plant(t.Context(), newEngine(t), row(), scores); err != nil {
		t.Fatalf("plant: %v", err)
	}
	if len(scores) < 30 {
		t.Errorf("%d kinds of faults, want at least 30", len(scores))
	}
	for name, s := range scores {
		if s.planted < mostPlaces || len(s.missed) > 0 {
			t.Errorf("%s: %d planted, missed %q, want %d and all found", name, s.planted, s.missed, mostPlaces)
		}
	}
}

// TestExampleFiles checks the models in the folder ENERGYPLUS_TRIAL and below, such as the example files of an
// installation. EnergyPlus simulates them, so an error is a mistake of ours; then it plants faults in each.
func TestExampleFiles(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("ENERGYPLUS_TRIAL")
	if folder == "" {
		return
	}
	e, scores := newEngine(t), map[string]*score{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		extension := strings.ToLower(filepath.Ext(path))
		if err != nil || extension != ".idf" && extension != ".epjson" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		report, err := e.Run(t.Context(), engine.NewDocument(content, "", path))
		for _, f := range report.Findings {
			if f.Severity == engine.SeverityError {
				t.Errorf("%s:%d: %s %s: %s", path, f.Line, f.Code, f.Path, f.Message)
			}
		}
		if err != nil || report.Errors > 0 {
			return err
		}
		return plant(t.Context(), e, string(content), scores)
	})
	if err != nil || len(scores) == 0 {
		t.Fatalf("faults of %d kinds planted in %s, with %v", len(scores), folder, err)
	}
	for name, s := range scores {
		t.Logf("%s: %d planted, missed %q", name, s.planted, s.missed)
	}
}
