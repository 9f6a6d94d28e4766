package cli

import "testing"

// TestPruneLimit: with a run a night, logs stop growing when they are as old as they may become,
// whatever a night brings.
func TestPruneLimit(t *testing.T) {
	t.Parallel()
	const days = 90
	for _, night := range []int64{1 << 10, 20 << 20, 200 << 20, 5 << 30} {
		size := int64(0)
		for n := range int64(5 * days) {
			size += night
			if old := size - days*night; old > 0 {
				size -= min(old, pruneLimit(size))
			}
			if n > 3*days && size > (days+1)*night {
				t.Fatalf("%d bytes a night: %d after %d nights", night, size, n)
			}
		}
	}
}
