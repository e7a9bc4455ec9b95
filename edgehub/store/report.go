package store

import "fmt"

// Report is what Check found in a data file.
type Report struct {
	Path      string           `json:"path"`
	Size      int64            `json:"size"`  // of the file, in bytes
	Clean     bool             `json:"clean"` // closed in order
	Resources []ResourceReport `json:"resources"`
	Documents int              `json:"documents"`
	Infos     int              `json:"infos"`
	// Problems says what is wrong with the file, at most maxProblems of it; nothing when it is sound.
	Problems []string `json:"problems,omitempty"`
	More     int      `json:"more,omitempty"` // how many more there are
}

// ResourceReport counts what is stored of a resource.
type ResourceReport struct {
	Name        string `json:"name"`
	Epoch       string `json:"epoch"`
	Scope       string `json:"scope"`
	Rev         uint64 `json:"rev"`
	StagedRev   uint64 `json:"stagedRev"`
	Oldest      uint64 `json:"oldest"` // the smallest position that can be watched from
	Objects     int    `json:"objects"`
	Events      int    `json:"events"`
	Gaps        int    `json:"gaps"`
	Staged      int    `json:"staged"`
	Bodies      int    `json:"bodies"`
	BodyBytes   int64  `json:"bodyBytes"`
	WindowBytes int64  `json:"windowBytes"` // by the accounting of watchlog.Config.MaxBytes
}

// maxProblems bounds the problems that a report spells out.
const maxProblems = 100

// Err returns nil for a sound file, else an error that wraps ErrCorrupt.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w: %s (%d problems)", r.Path, ErrCorrupt, r.Problems[0], len(r.Problems)+r.More)
}

func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) == maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// note adds err, if there is one, to the problems.
func (r *Report) note(err error) {
	if err != nil {
		r.problem("%v", err)
	}
}
