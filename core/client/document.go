package client

// DocumentWindow is a part of a run's document, with the findings on its lines.
type DocumentWindow struct {
	// Filename is empty where the document has none.
	Filename  string `json:"filename"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	// Kind is text, table, binary or too_large. The last two have no lines.
	Kind      string         `json:"kind"`
	LineCount int            `json:"line_count"`
	Next      Optional       `json:"next"`
	Previous  Optional       `json:"previous"`
	Lines     []DocumentLine `json:"lines"`
	// Findings are at most 200.
	Findings []Finding `json:"findings"`
	// Content is the path of the whole document.
	Content string `json:"content"`
}

// DocumentLine is a line of a document.
type DocumentLine struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
	// Length is how many characters the line has, of which Text has the first if Cut is set.
	Length int  `json:"length"`
	Cut    bool `json:"cut"`
}

// Comparison is what has changed since the previous run on the same file.
type Comparison struct {
	// Previous is the id of the run; empty where there is nothing to compare with.
	Previous Optional         `json:"previous"`
	Counts   ComparisonCounts `json:"counts"`
	// New and Gone are at most 200 each.
	New  []Finding `json:"new"`
	Gone []Finding `json:"gone"`
	// Complete is false where findings are not kept one by one, so that not all could be compared.
	Complete bool `json:"complete"`
}

// ComparisonCounts counts the findings of a comparison.
type ComparisonCounts struct {
	New  int `json:"new"`
	Gone int `json:"gone"`
	Same int `json:"same"`
}
