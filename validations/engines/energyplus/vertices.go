package energyplus

import (
	"fmt"
	"math"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// point is a place in metres.
type point struct{ x, y, z float64 }

func (p point) minus(q point) point { return point{p.x - q.x, p.y - q.y, p.z - q.z} }

func (p point) dot(q point) float64 { return p.x*q.x + p.y*q.y + p.z*q.z }

func (p point) length() float64 { return math.Sqrt(p.dot(p)) }

// polygon is a surface with its vertices in the order of the model.
type polygon struct {
	object   *model.Object
	vertices []point
	// normal is as long as twice the area, and points outwards where the vertices are in the right order.
	normal point
}

// checkSurfaces checks the surfaces that are given by their vertices, and whether those of each zone enclose it.
func (r *modelRun) checkSurfaces() {
	clockwise := r.isClockwise()
	polygons := map[string]*polygon{}
	for _, o := range r.Model.Objects {
		if o.Spec == nil || !hasVertices(o.Spec) {
			continue
		}
		vertices, whole := verticesOf(o)
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
			polygons[model.Fold(o.Label.Text)] = p
		}
	}
	r.checkFacing(polygons)
	r.checkEnclosed(polygons)
	r.checkBoundaries(polygons)
}

func (r *modelRun) isClockwise() bool {
	for o := range r.Model.Known("globalgeometryrules") {
		const direction = "vertex_entry_direction"
		if o.Field(direction) != nil {
			return o.Is(direction, "Clockwise") || o.Is(direction, "CW")
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
func hasVertices(class *model.Class) bool {
	return class.Repeated != nil && class.Repeated.Name == repeatedVertices ||
		model.FindField(class.Fields, firstVertex) >= 0
}

// verticesOf returns the vertices of an object, and whether each has three coordinates.
func verticesOf(o *model.Object) ([]point, bool) {
	const dimensions = 3
	first := model.FindField(o.Spec.Fields, firstVertex)
	coordinates := make([]float64, 0, len(o.Fields))
	for i := range o.Fields {
		f := &o.Fields[i]
		place := f.Index
		if f.Spec == nil {
			return nil, false
		}
		if first >= 0 {
			place -= first
		} else if f.Group != model.Outside {
			place += f.Group * dimensions
		}
		if place < 0 || first < 0 && f.Group == model.Outside {
			continue
		}
		value, isNumber := f.Number()
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
		r.Add(model.CheckVertices, "vertex_count", p.object, nil, message)
		return false
	}
	const stated = "number_of_vertices"
	if count, isNumber := p.object.Value(stated); isNumber && int(count) != n {
		f := p.object.Field(stated)
		found := model.Finding{Check: model.CheckVertices, Code: "vertex_count", Object: p.object, Field: f}
		found.Message = fmt.Sprintf("%s vertices are stated, %d are given", engine.Clip(f.Text), n)
		if int(count) < n {
			// EnergyPlus ignores the vertices behind.
			found.Check = model.CheckGeometry
		}
		r.Find(found)
	}
	const smallestArea = 1e-6
	if p.normal.length()/2 < smallestArea {
		r.Add(model.CheckVertices, "no_area", p.object, nil,
			"the vertices are in one line or one point, so the surface has no area")
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
		r.Add(model.CheckGeometry, "not_planar", p.object, nil, message)
	}
	const kind = "surface_type"
	const steep = 0.5
	upward := p.normal.z / size
	isTop := p.object.Is(kind, "Roof") || p.object.Is(kind, "Ceiling")
	if p.object.Is(kind, "Floor") && upward > steep || isTop && upward < -steep {
		r.Add(model.CheckGeometry, "upside_down", p.object, nil, fmt.Sprintf(
			"this %s is upside down by the order of its vertices", strings.ToLower(p.object.Field(kind).Text)))
	}
}

// checkFacing looks for windows and doors that face another way than the surface that they are in. EnergyPlus goes on
// unless they face the opposite way.
func (r *modelRun) checkFacing(polygons map[string]*polygon) {
	for _, o := range r.Model.Objects {
		p, known := polygons[model.Fold(o.Label.Text)]
		if !known || p.object != o {
			continue
		}
		base := o.Text(baseSurface)
		wall, known := polygons[model.Fold(base)]
		if base == "" || !known {
			continue
		}
		found := model.Finding{Check: model.CheckGeometry, Code: "vertex_order", Object: o}
		found.Message = "faces the other way than " + engine.Clip(base) + " by the order of its vertices"
		const opposite = -0.5
		cosine := wall.normal.dot(p.normal) / wall.normal.length() / p.normal.length()
		if cosine < opposite {
			found.Check = model.CheckVertices
		}
		if cosine < 0 {
			r.Find(found)
		}
	}
}
