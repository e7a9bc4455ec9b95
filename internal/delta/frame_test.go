package delta

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func TestFramesGiveBackTheirText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for _, size := range []int{1, 1000, 300_000, 5 << 20} {
		text := letters(rng, size)
		frame := AppendFrame([]byte("before"), text)
		got, err := AppendText([]byte("head"), frame[len("before"):], uint32(size)) //nolint:gosec // small
		if err != nil || string(got[:4]) != "head" || !bytes.Equal(got[4:], text) {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
}

func TestFramesThatAreRefused(t *testing.T) {
	text := bytes.Repeat([]byte("0"), 1<<20)
	frame := AppendFrame(nil, text)
	damaged := bytes.Clone(frame)
	damaged[len(damaged)-1] ^= 1
	for name, c := range map[string]struct {
		frame []byte
		size  uint32
	}{
		"a bomb":            {frame, 1000},
		"less than it says": {frame, 1<<20 + 1},
		"too much":          {frame, MaxFramed + 1},
		"nothing":           {nil, 1},
		"a cut frame":       {frame[:len(frame)-5], 1 << 20},
		"a damaged frame":   {damaged, 1 << 20},
		"two frames":        {append(bytes.Clone(frame), frame...), 1 << 20},
		"no frame":          {[]byte("hello"), 5},
	} {
		if _, err := AppendText(nil, c.frame, c.size); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzAppendText: whatever a frame is, it holds as much as was said or is refused.
func FuzzAppendText(f *testing.F) {
	f.Add(AppendFrame(nil, []byte("hello hello hello")), uint32(17))
	f.Add(AppendFrame(nil, bytes.Repeat([]byte("0"), 1<<16)), uint32(1<<16))
	f.Fuzz(func(t *testing.T, frame []byte, size uint32) {
		text, err := AppendText(nil, frame, size)
		if err == nil && len(text) != int(size) || err != nil && !errors.Is(err, ErrFrame) {
			t.Fatalf("%d bytes instead of %d: %v", len(text), size, err)
		}
	})
}
