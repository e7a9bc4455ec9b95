package clock

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// jump is the file that is added to package time.
//
//go:embed jump.go.txt
var jump []byte

// The beginning of time.Now, and what is put in its place.
const (
	nowIs   = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	nowJump = nowIs + "\tsec = jumped(sec)\n"
)

// Build compiles the packages, with jumping clocks, into the directory dir. The first time takes a minute or two, because
// nearly everything depends on package time; Go's build cache has it then.
func Build(dir string, packages ...string) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("clock: go env: %w", err)
	}
	std := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	work, err := os.MkdirTemp("", "clock-")
	if err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	overlay, err := writeOverlay(work, std)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-overlay", overlay, "-o", dir + string(filepath.Separator)}, packages...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("clock: go build: %w\n%s", err, out)
	}
	return nil
}

// writeOverlay writes the overlay of package time, whose sources are in std, into the directory work.
func writeOverlay(work, std string) (string, error) {
	file := filepath.Join(std, "time.go")
	source, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("clock: %w", err)
	}
	changed, err := jumping(string(source))
	if err != nil {
		return "", fmt.Errorf("clock: %s: %w", file, err)
	}
	replace := map[string]string{file: filepath.Join(work, "time.go"), filepath.Join(std, "jump.go"): filepath.Join(work, "jump.go")}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("clock: %w", err)
	}
	for name, content := range map[string][]byte{"time.go": []byte(changed), "jump.go": jump, "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o600); err != nil {
			return "", fmt.Errorf("clock: %w", err)
		}
	}
	return filepath.Join(work, "overlay.json"), nil
}

// jumping is the source of package time's time.go with a clock that jumps.
func jumping(source string) (string, error) {
	if n := strings.Count(source, nowIs); n != 1 {
		return "", fmt.Errorf("time.Now of this Go is another than the one that can be made to jump (%q is there %d times): "+
			"look at it and mend package internal/e2e/clock", nowIs, n)
	}
	return strings.Replace(source, nowIs, nowJump, 1), nil
}
