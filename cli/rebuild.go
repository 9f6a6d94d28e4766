package cli

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ypcrawl/wal"
)

// rebuilt is added to the name of a database that is built anew.
const rebuilt = "-rebuilt"

// rebuildFrom is what `wal replay` is to be given so that it brings back all of a database:
// its log folder, and those below it and below the default one where the same database has
// written under another name, or before its lines named it. The damaged file is not asked
// for its id: it may not tell it any more.
func rebuildFrom(db, logs string) []string {
	written := writersBelow(defaultLogs, logs)
	own := written[filepath.Clean(logs)]
	for was := db; len(own) == 0; { // it was rebuilt, and has not crawled since
		ext := filepath.Ext(was)
		name, again := strings.CutSuffix(strings.TrimSuffix(was, ext), rebuilt)
		if !again {
			break
		}
		was = name + ext
		own = written[filepath.Clean(logsOf(was))]
	}
	ids := slices.DeleteFunc(slices.Clone(own), func(id string) bool { return id == "" })
	folders, all, unnamed := []string{}, slices.Clone(ids), false
	for dir, wrote := range written {
		none := slices.Contains(wrote, "")
		ofIt := dir == filepath.Clean(logs) || none && dir == filepath.Clean(defaultLogs) || slices.ContainsFunc(wrote, func(id string) bool { return slices.Contains(ids, id) })
		if !ofIt {
			continue
		}
		folders = append(folders, dir)
		all = append(all, wrote...)
		unnamed = unnamed || none
	}
	slices.Sort(folders)
	if len(folders) == 0 {
		return []string{logs}
	}
	others := slices.ContainsFunc(all, func(id string) bool { return id != "" && !slices.Contains(ids, id) })
	if !others || len(ids) > 1 { // of several, the replay lists them and asks
		return folders
	}
	if unnamed {
		ids = append(ids, noDatabase)
	}
	return append(folders, "--database", strings.Join(ids, ","))
}

// writersBelow is wal.Writers of each folder below those named. What can't be read is left
// out: the replay will say so.
func writersBelow(roots ...string) map[string][]string {
	written := map[string][]string{}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // see above
			}
			if ids, err := wal.Writers(path); err == nil && len(ids) > 0 {
				written[filepath.Clean(path)] = ids
			}
			return nil
		})
	}
	return written
}
