package e2e

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ypcrawl/store/storetest"
)

// A sourcePackage is a folder of Go files.
type sourcePackage struct {
	comment string              // above its package lines
	imports map[string]bool     // of files that are no tests
	names   map[string]bool     // of what is declared at the top, in tests, too; methods and fields, too
	files   map[string]bool     // by name
	says    map[string][]string // by file: its comments
}

// sourcePackages are the packages of the project by their folders, "." being the program.
func sourcePackages(t *testing.T) map[string]*sourcePackage {
	t.Helper()
	all := map[string]*sourcePackage{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && strings.HasPrefix(d.Name(), "."), d.IsDir() && file == "tools":
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go"):
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		if all[dir] == nil {
			all[dir] = &sourcePackage{imports: map[string]bool{}, names: map[string]bool{}, files: map[string]bool{}, says: map[string][]string{}}
		}
		return all[dir].read(file)
	})
	storetest.NoError(t, err)
	return all
}

func (p *sourcePackage) read(file string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files[filepath.Base(file)] = true
	for _, c := range f.Comments {
		p.says[file] = append(p.says[file], c.Text())
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			p.names[n.Name.Name] = true
		case *ast.TypeSpec:
			p.names[n.Name.Name] = true
		case *ast.ValueSpec:
			for _, name := range n.Names {
				p.names[name.Name] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				p.names[name.Name] = true
			}
		}
		return true
	})
	if !strings.HasSuffix(file, "_test.go") {
		p.comment += f.Doc.Text()
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			p.imports[name] = true
		}
	}
	return nil
}

// word is what may be a name of a package within a sentence.
var word = regexp.MustCompile(`[\w./-]*\w`)

// TestPackageComments holds the comments of packages to the code. The first sentence of "Imports:" names the packages of ours that
// a package imports, each by its folder, and no others ("nothing of ours", "every package"); the paragraph names the modules, by the
// last part of their paths.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	all, modules := sourcePackages(t), directModules(t)
	for dir, p := range all {
		if slices.Contains([]string{".", "e2e", "store/storetest", "cli/frame/frametest", "crawl/site/region/regiontest"}, dir) {
			continue // the program, and what tests alone import
		}
		_, list, ok := strings.Cut(p.comment, "\nImports: ")
		if !ok {
			t.Errorf("the comment of package %s has no line %q", dir, "Imports: …")
			continue
		}
		list, _, _ = strings.Cut(list, "\n\n")
		if diff := gocmp.Diff(saidImports(list, all, modules), p.imported(modules, strings.HasPrefix(list, "every package"))); diff != "" {
			t.Errorf("Imports: of package %s (-comment +code):\n%s", dir, diff)
		}
	}
}

// saidImports are the packages and modules that a paragraph names, sorted.
func saidImports(list string, all map[string]*sourcePackage, modules map[string]string) []string {
	first, _, _ := strings.Cut(strings.NewReplacer(".\n", ";", ". ", ";").Replace(list), ";")
	said := map[string]bool{}
	for _, w := range word.FindAllString(first, -1) {
		if all[w] != nil {
			said[w] = true
		}
	}
	for _, w := range word.FindAllString(list, -1) {
		if w = strings.TrimPrefix(w, "golang.org/"); all[w] != nil {
			continue // our own cli, not the module
		}
		if m := cmp.Or(modules[w], modules[path.Base(w)]); m != "" {
			said[m] = true
		}
	}
	return slices.Sorted(maps.Keys(said))
}

// imported are the packages of ours, unless they are all meant, and the modules that a package imports, sorted.
func (p *sourcePackage) imported(modules map[string]string, every bool) []string {
	found := map[string]bool{}
	for name := range p.imports {
		if ours, ok := strings.CutPrefix(name, "ypcrawl/"); ok && !every {
			found[ours] = true
		}
		for _, m := range modules {
			if name == m || strings.HasPrefix(name, m+"/") {
				found[m] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// directModules are the modules of go.mod that our code imports, by the last part of their paths: "x/net", "zerolog".
func directModules(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("go.mod")
	storetest.NoError(t, err)
	modules := map[string]string{}
	for _, m := range required.FindAllStringSubmatch(string(data), -1) {
		name, inX := strings.CutPrefix(m[1], "golang.org/")
		if !inX {
			name = path.Base(strings.TrimSuffix(m[1], m[2]))
		}
		modules[name] = m[1]
	}
	return modules
}

var (
	// required is a line of go.mod with a module that is imported directly, and the version in its path.
	required = regexp.MustCompile(`(?m)^\t(\S+?(/v\d+)?) v\S+$`)
	// linked is a link of a comment: [Name], [Type.Method] or [package.Name].
	linked = regexp.MustCompile(`\[\*?((?:\w+\.)*[A-Z]\w*[a-z]\w*)\]`)
	// testName is the name of a test, benchmark or fuzz target.
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+\b`)
	// goFile is the name of a file, with its folder or without.
	goFile = regexp.MustCompile(`\b[\w/]+\.go\b`)
)

// TestComments: what comments link to or name as a test or a file is there.
func TestComments(t *testing.T) {
	t.Parallel()
	all := sourcePackages(t)
	anywhere := map[string]bool{}
	for _, p := range all {
		maps.Copy(anywhere, p.names)
	}
	for dir, p := range all {
		hasFile := func(name string) bool {
			for _, at := range []string{path.Dir(name), path.Join(dir, path.Dir(name))} {
				if all[at] != nil && all[at].files[path.Base(name)] {
					return true
				}
			}
			return false
		}
		for file, comments := range p.says {
			text := strings.Join(comments, "\n")
			for _, m := range linked.FindAllStringSubmatch(text, -1) {
				parts := strings.Split(m[1], ".")
				if !strings.HasSuffix(file, "_test.go") && !anywhere[parts[len(parts)-1]] && !p.imports[parts[0]] {
					t.Errorf("%s: [%s] is nowhere", file, m[1])
				}
			}
			for _, name := range testName.FindAllString(text, -1) {
				if !anywhere[name] {
					t.Errorf("%s: there is no %s", file, name)
				}
			}
			for _, name := range goFile.FindAllString(text, -1) {
				if !hasFile(name) {
					t.Errorf("%s: there is no file %s", file, name)
				}
			}
		}
	}
}
