package tableschema

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// durationPattern is the form of durations in XML Schema, and of weeks in ISO 8601.
var durationPattern = regexp.MustCompile(
	`^-?P(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)$`)

// size is what the lengths of a schema are about: characters, items or members.
func (c *Column) size(value Cell) (int, string, string) {
	switch c.Kind {
	case TypeArray:
		var items []json.RawMessage
		if json.Unmarshal([]byte(value.canonical), &items) == nil {
			return len(items), "item", "items"
		}
	case TypeObject, TypeGeoJSON:
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(value.canonical), &members) == nil {
			return len(members), "member", "members"
		}
	case TypeList:
		return 1 + strings.Count(value.Text, c.delimiter), "item", "items"
	default:
	}
	return utf8.RuneCountInString(value.Text), "character", "characters"
}

// geometries are the types of geometries of GeoJSON, with how deep their coordinates are nested and the least number of
// them in the innermost list.
var geometries = map[string]struct{ depth, least int }{
	"Point": {0, 0}, "MultiPoint": {1, 0}, "LineString": {1, 2}, "MultiLineString": {2, 2}, "Polygon": {2, 4},
	"MultiPolygon": {3, 4},
}

// parseGeoJSON reads an object of GeoJSON (RFC 7946), or of TopoJSON.
func parseGeoJSON(text, format string) (string, error) {
	canonical, err := parseJSON(text, TypeObject)
	if err != nil {
		return "", err
	}
	var object map[string]any
	_ = json.Unmarshal([]byte(canonical), &object) // It was read before.
	if format == formatTopoJSON && !isTopoJSON(object) || format != formatTopoJSON && !isGeoJSON(object) {
		return "", errNotOfType
	}
	return canonical, nil
}

func isTopoJSON(object map[string]any) bool {
	_, hasObjects := object["objects"].(map[string]any)
	_, hasArcs := object["arcs"].([]any)
	return object["type"] == "Topology" && hasObjects && hasArcs
}

const formatTopoJSON = "topojson"

func isGeoJSON(object map[string]any) bool {
	switch object["type"] {
	case "FeatureCollection":
		return allObjects(object["features"], isFeature)
	case "Feature":
		return isFeature(object)
	default:
		return isGeometry(object)
	}
}

func isFeature(object map[string]any) bool {
	geometry, hasGeometry := object["geometry"]
	properties, hasProperties := object["properties"]
	if object["type"] != "Feature" || !hasGeometry || !hasProperties {
		return false
	}
	_, isObject := properties.(map[string]any)
	shape, isShape := geometry.(map[string]any)
	return (properties == nil || isObject) && (geometry == nil || isShape && isGeometry(shape))
}

func isGeometry(object map[string]any) bool {
	name, _ := object["type"].(string)
	if name == "GeometryCollection" {
		return allObjects(object["geometries"], isGeometry)
	}
	form, known := geometries[name]
	return known && isNested(object["coordinates"], form.depth, form.least)
}

func allObjects(value any, holds func(object map[string]any) bool) bool {
	items, ok := value.([]any)
	for _, item := range items {
		object, isObject := item.(map[string]any)
		ok = ok && isObject && holds(object)
	}
	return ok
}

// isNested says whether a value is a position, or lists of positions of a depth.
func isNested(value any, depth, least int) bool {
	items, ok := value.([]any)
	if !ok || depth == 1 && len(items) < least {
		return false
	}
	if depth > 0 {
		for _, item := range items {
			ok = ok && isNested(item, depth-1, least)
		}
		return ok
	}
	for _, item := range items {
		_, isNumber := item.(float64)
		ok = ok && isNumber
	}
	return ok && len(items) >= 2
}
