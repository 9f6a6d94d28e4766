package store_test

import (
	"testing"

	"ypcrawl/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(m, "50", map[string]func([]string) error{
		"lock":   lockChild,
		"create": createChild,
		"full":   fullChild,
		"modes":  modesChild,
		"read":   readChild,
		"look":   lookChild,
	})
}

type process = storetest.Process

func start(t *testing.T, part string, args ...string) *process {
	t.Helper()
	return storetest.Command(t, part, args...).Begin(t)
}
