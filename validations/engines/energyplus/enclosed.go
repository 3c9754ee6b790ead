package energyplus

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const (
	// sameVertex is how near vertices are that EnergyPlus takes for one: half an inch.
	sameVertex = 0.0127
	// mostVertices of a zone are looked at, since the work grows with their square.
	mostVertices = 500
)

// edge joins two vertices of a zone by their numbers, the lower one first.
type edge struct{ from, to int }

// checkEnclosed warns of zones whose surfaces leave a gap. Every edge of a closed zone belongs to two surfaces.
func (r *modelRun) checkEnclosed(polygons map[string]*polygon) {
	zones := map[string][]*polygon{}
	partial := map[string]bool{}
	for _, o := range r.Model.Objects {
		if !model.IsSurface(o.Spec) {
			continue
		}
		name := o.Field(model.ZoneName)
		if name == nil {
			continue
		}
		zone := model.Fold(name.Text)
		p, known := polygons[model.Fold(o.Label.Text)]
		if !known || p.object != o {
			// The vertices of this surface are faulty, or follow from its height and width.
			partial[zone] = true
			continue
		}
		zones[zone] = append(zones[zone], p)
	}
	for o := range r.Model.Known(model.ZoneKey) {
		zone := model.Fold(o.Label.Text)
		if surfaces := zones[zone]; len(surfaces) > 0 && !partial[zone] && isOpen(surfaces) {
			message := "the surfaces of the zone " + engine.Quote(o.Label.Text) + " leave a gap"
			r.Add(model.CheckGeometry, "zone_open", o, nil, message)
		}
	}
}

// isOpen reports whether some edge does not belong to two surfaces. Edges are cut where a vertex lies on them, since a
// long edge may border on several short ones.
func isOpen(surfaces []*polygon) bool {
	vertices := []point{}
	numbers := [][]int{}
	for _, surface := range surfaces {
		path := []int{}
		for _, vertex := range surface.vertices {
			at := slices.IndexFunc(vertices, func(p point) bool { return p.minus(vertex).length() < sameVertex })
			if at < 0 {
				at = len(vertices)
				vertices = append(vertices, vertex)
			}
			if at >= mostVertices {
				return false
			}
			path = append(path, at)
		}
		numbers = append(numbers, path)
	}
	uses := map[edge]int{}
	for _, path := range numbers {
		for i, from := range path {
			if to := path[(i+1)%len(path)]; from != to {
				countParts(vertices, from, to, uses)
			}
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(uses)), func(n int) bool { return n%2 != 0 })
}

// countParts counts the parts of an edge between the vertices that lie on it.
func countParts(vertices []point, from, to int, uses map[edge]int) {
	start, along := vertices[from], vertices[to].minus(vertices[from])
	length := along.length()
	type stop struct {
		number int
		at     float64
	}
	stops := []stop{{from, 0}, {to, length}}
	for number, vertex := range vertices {
		if number == from || number == to {
			continue
		}
		at := vertex.minus(start).dot(along) / length
		if at <= 0 || at >= length {
			continue
		}
		offset := vertex.minus(start)
		if beside := math.Sqrt(max(0, offset.dot(offset)-at*at)); beside < sameVertex {
			stops = append(stops, stop{number, at})
		}
	}
	slices.SortFunc(stops, func(a, b stop) int { return cmp.Compare(a.at, b.at) })
	for i := range stops[1:] {
		uses[edge{min(stops[i].number, stops[i+1].number), max(stops[i].number, stops[i+1].number)}]++
	}
}
