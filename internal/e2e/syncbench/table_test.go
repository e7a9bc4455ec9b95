//go:build e2e

package syncbench

import (
	"fmt"
	"io"
	"sync"
)

// table collects figures.
type table struct {
	mu   sync.Mutex
	rows []row // guarded by mu
}

// row is one figure.
type row struct{ aim, method, value, target, verdict string }

// figures is the table that is printed at the end.
var figures table

// add adds a figure that has a target.
func (t *table) add(aim, method, value, target string, reached bool) {
	verdict := "not reached"
	if reached {
		verdict = "ok"
	}
	t.append(row{aim, method, value, target, verdict})
}

// tell adds a figure that has none.
func (t *table) tell(aim, method, value string) { t.append(row{aim, method, value, "", ""}) }

func (t *table) append(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

// print writes the table in Markdown.
func (t *table) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(w, "\n| aim | how it is measured | measured | target | |\n|---|---|--:|--:|---|\n")
	for _, r := range t.rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", r.aim, r.method, r.value, r.target, r.verdict)
	}
}

// bytesText renders a number of bytes.
func bytesText(n float64) string {
	switch {
	case n < 10:
		return fmt.Sprintf("%.1f B", n)
	case n < 10_000:
		return fmt.Sprintf("%.0f B", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", n/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", n/(1<<20))
	}
}
