package model

import "github.com/simplevalidations/simplevalidations/validations/engines/engine"

// The checks of an energyplus step, by the names that its configuration knows them by.
const (
	CheckVersion         = "version"
	CheckVersionMissing  = "version_missing"
	CheckClasses         = "classes"
	CheckFields          = "fields"
	CheckIgnoredFields   = "ignored_fields"
	CheckFieldCounts     = "field_counts"
	CheckRequiredFields  = "required_fields"
	CheckValues          = "values"
	CheckRequiredObjects = "required_objects"
	CheckUniqueNames     = "unique_names"
	CheckReferences      = "references"
	CheckLooseReferences = "loose_references"
	CheckZoneSurfaces    = "zone_surfaces"
	CheckVertices        = "vertices"
	CheckGeometry        = "geometry"
	CheckConstructions   = "constructions"
	CheckBoundaries      = "boundaries"
	CheckSchedules       = "schedules"
	CheckLooseSchedules  = "loose_schedules"
	CheckScheduleLimits  = "schedule_limits"
	CheckTimestep        = "timestep"
	CheckEncoding        = "encoding"
	CheckCommas          = "commas"
)

// Severities are those of the checks that no configuration changes.
var Severities = map[string]engine.Severity{
	CheckVersion:         engine.SeverityError,
	CheckVersionMissing:  engine.SeverityWarning,
	CheckClasses:         engine.SeverityError,
	CheckFields:          engine.SeverityError,
	CheckIgnoredFields:   engine.SeverityWarning,
	CheckFieldCounts:     engine.SeverityError,
	CheckRequiredFields:  engine.SeverityError,
	CheckValues:          engine.SeverityError,
	CheckRequiredObjects: engine.SeverityError,
	CheckUniqueNames:     engine.SeverityError,
	CheckReferences:      engine.SeverityError,
	CheckLooseReferences: engine.SeverityWarning,
	CheckZoneSurfaces:    engine.SeverityError,
	CheckVertices:        engine.SeverityError,
	CheckGeometry:        engine.SeverityWarning,
	CheckConstructions:   engine.SeverityError,
	CheckBoundaries:      engine.SeverityError,
	CheckSchedules:       engine.SeverityError,
	CheckLooseSchedules:  engine.SeverityWarning,
	CheckScheduleLimits:  engine.SeverityWarning,
	CheckTimestep:        engine.SeverityWarning,
	CheckCommas:          engine.SeverityWarning,
	CheckEncoding:        engine.SeverityWarning,
}
