package energyplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// point is a place in metres.
type point struct{ x, y, z float64 }

func (p point) minus(q point) point { return point{p.x - q.x, p.y - q.y, p.z - q.z} }

func (p point) dot(q point) float64 { return p.x*q.x + p.y*q.y + p.z*q.z }

func (p point) length() float64 { return math.Sqrt(p.dot(p)) }

// polygon is a surface with its vertices in the order of the model.
type polygon struct {
	object   *modelObject
	vertices []point
	// normal is as long as twice the area, and points outwards where the vertices are in the right order.
	normal point
}

// checkGeometry checks the surfaces that are given by their vertices, and whether those of each zone enclose it.
func (r *modelRun) checkGeometry() {
	clockwise := r.isClockwise()
	polygons := map[string]*polygon{}
	for _, o := range r.model.objects {
		if o.spec == nil || !hasVertices(o.spec) {
			continue
		}
		vertices, whole := o.vertices()
		if !whole {
			// Fields that are missing or no numbers have findings of their own.
			continue
		}
		p := &polygon{object: o, vertices: vertices, normal: newellNormal(vertices)}
		if clockwise {
			p.normal = point{}.minus(p.normal)
		}
		if r.checkVertices(p) {
			r.checkShape(p)
			polygons[foldName(o.label.text)] = p
		}
	}
	r.checkFacing(polygons)
	r.checkEnclosed(polygons)
	r.checkBoundaries(polygons)
}

func (r *modelRun) isClockwise() bool {
	for _, o := range r.model.objects {
		if o.key != "globalgeometryrules" {
			continue
		}
		if order := o.field("vertex_entry_direction"); order != nil {
			return strings.EqualFold(order.text, "Clockwise") || strings.EqualFold(order.text, "CW")
		}
	}
	return false
}

const (
	repeatedVertices = "vertices"
	// firstVertex is the field of the first coordinate where a class has a fixed number of vertices.
	firstVertex = "vertex_1_x_coordinate"
)

// hasVertices reports whether the objects of a class are polygons.
func hasVertices(class *dictionary.Class) bool {
	return class.Repeated != nil && class.Repeated.Name == repeatedVertices ||
		dictionary.Find(class.Fields, firstVertex) >= 0
}

// vertices returns the vertices of an object, and whether each has three coordinates.
func (o *modelObject) vertices() ([]point, bool) {
	const dimensions = 3
	first := dictionary.Find(o.spec.Fields, firstVertex)
	coordinates := make([]float64, 0, len(o.fields))
	for i := range o.fields {
		f := &o.fields[i]
		place := f.index
		if f.spec == nil {
			return nil, false
		}
		if first >= 0 {
			place -= first
		} else if f.group != outside {
			place += f.group * dimensions
		}
		if place < 0 || first < 0 && f.group == outside {
			continue
		}
		value, isNumber := f.number()
		if !isNumber || place != len(coordinates) {
			return nil, false
		}
		coordinates = append(coordinates, value)
	}
	if len(coordinates)%dimensions != 0 {
		return nil, false
	}
	vertices := make([]point, 0, len(coordinates)/dimensions)
	for ; len(coordinates) > 0; coordinates = coordinates[dimensions:] {
		vertices = append(vertices, point{coordinates[0], coordinates[1], coordinates[2]})
	}
	return vertices, true
}

// corners counts the vertices that are neither at the one before nor on the line between those beside them.
func (p *polygon) corners() int {
	const tolerance = 0.01
	apart := []point{}
	for i, vertex := range p.vertices {
		if vertex.minus(p.vertices[(i+len(p.vertices)-1)%len(p.vertices)]).length() >= tolerance {
			apart = append(apart, vertex)
		}
	}
	n := 0
	for i, vertex := range apart {
		before, after := apart[(i+len(apart)-1)%len(apart)], apart[(i+1)%len(apart)]
		along, offset := after.minus(before), vertex.minus(before)
		at := offset.dot(along) / max(along.dot(along), tolerance*tolerance)
		if offset.minus(point{along.x * at, along.y * at, along.z * at}).length() >= tolerance {
			n++
		}
	}
	return n
}

// newellNormal is the normal of a polygon by Newell's method. Its length is twice the area.
func newellNormal(vertices []point) point {
	normal := point{}
	for i, p := range vertices {
		q := vertices[(i+1)%len(vertices)]
		normal.x += (p.y - q.y) * (p.z + q.z)
		normal.y += (p.z - q.z) * (p.x + q.x)
		normal.z += (p.x - q.x) * (p.y + q.y)
	}
	return normal
}

// checkVertices checks the number of vertices and the area. It says whether the polygon has one.
func (r *modelRun) checkVertices(p *polygon) bool {
	const fewest = 3
	n := len(p.vertices)
	if n < fewest {
		message := engine.AtLeast(n, fewest, "vertex", "vertices")
		r.find(modelFinding{check: checkVertices, code: "vertex_count", message: message, object: p.object})
		return false
	}
	if stated := p.object.field("number_of_vertices"); stated != nil {
		if count, isNumber := stated.number(); isNumber && int(count) != n {
			found := modelFinding{check: checkVertices, code: "vertex_count", object: p.object, field: stated}
			found.message = fmt.Sprintf("%s vertices are stated, %d are given", engine.Clip(stated.text), n)
			if int(count) < n {
				// EnergyPlus ignores the vertices behind.
				found.check = checkGeometry
			}
			r.find(found)
		}
	}
	const smallestArea = 1e-6
	if p.normal.length()/2 < smallestArea {
		found := modelFinding{check: checkVertices, code: "no_area", object: p.object}
		found.message = "the vertices are in one line or one point, so the surface has no area"
		r.find(found)
		return false
	}
	return true
}

// checkShape warns of vertices that are not in one plane and of floors and roofs that are upside down.
func (r *modelRun) checkShape(p *polygon) {
	// EnergyPlus takes vertices this near to each other for one.
	const tolerance = 0.01
	size := p.normal.length()
	farthest := 0.0
	for _, vertex := range p.vertices {
		farthest = max(farthest, math.Abs(vertex.minus(p.vertices[0]).dot(p.normal))/size)
	}
	if farthest > tolerance {
		message := fmt.Sprintf("the vertices are not in one plane: one is %.2g m off", farthest)
		r.find(modelFinding{check: checkGeometry, code: "not_planar", message: message, object: p.object})
	}
	kind := p.object.field("surface_type")
	if kind == nil {
		return
	}
	const steep = 0.5
	upward := p.normal.z / size
	isFloor := strings.EqualFold(kind.text, "Floor")
	isTop := strings.EqualFold(kind.text, "Roof") || strings.EqualFold(kind.text, "Ceiling")
	if isFloor && upward > steep || isTop && upward < -steep {
		found := modelFinding{check: checkGeometry, code: "upside_down", object: p.object}
		found.message = fmt.Sprintf("this %s is upside down by the order of its vertices", strings.ToLower(kind.text))
		r.find(found)
	}
}

// checkFacing looks for windows and doors that face another way than the surface that they are in. EnergyPlus goes on
// unless they face the opposite way.
func (r *modelRun) checkFacing(polygons map[string]*polygon) {
	for _, o := range r.model.objects {
		p, known := polygons[foldName(o.label.text)]
		if !known || p.object != o {
			continue
		}
		base := o.field("building_surface_name")
		if base == nil {
			continue
		}
		wall, known := polygons[foldName(base.text)]
		if !known {
			continue
		}
		found := modelFinding{check: checkGeometry, code: "vertex_order", object: o}
		found.message = "faces the other way than " + engine.Clip(base.text) + " by the order of its vertices"
		const opposite = -0.5
		cosine := wall.normal.dot(p.normal) / wall.normal.length() / p.normal.length()
		if cosine < opposite {
			found.check = checkVertices
		}
		if cosine < 0 {
			r.find(found)
		}
	}
}
