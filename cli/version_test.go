package cli

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestReadBuild(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	tests := map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"release": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.2.0"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "1a2b3c4d5e6f7890"}, {Key: "vcs.time", Value: "2026-11-20T23:50:00Z"}, {Key: "vcs.modified", Value: "false"},
			}},
			"ypcrawl v1.2.0 (1a2b3c4d5e6f, 2026-11-20T23:50:00Z) go1.26.8 " + platform,
		},
		"work tree with changes": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "1a2b"}, {Key: "vcs.modified", Value: "true"},
			}},
			"ypcrawl devel (1a2b, with changes) go1.26.8 " + platform,
		},
		"without version control": {&debug.BuildInfo{GoVersion: "go1.26.8"}, "ypcrawl devel go1.26.8 " + platform},
		"without build info":      {nil, "ypcrawl devel " + runtime.Version() + " " + platform},
	}
	for name, tt := range tests {
		var out bytes.Buffer
		if err := readBuild(tt.info).print(&out, "ypcrawl"); err != nil || out.String() != tt.want+"\n" {
			t.Errorf("%s: got %q, %v; want %q", name, out.String(), err, tt.want)
		}
	}
}
