package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generated are the statements that are not whole in the code, by file and declaration, and why.
var generated = map[string]string{
	"store/reparse.go storedListings":          "has the columns of yp.ListingFields",
	"store/changes.go beforeColumns":           "has the columns of yp.ListingFields",
	"store/changes.go selectBefore":            "has the columns of yp.ListingFields",
	"store/listings.go stillSays":              "has the columns of yp.ListingFields",
	"store/listings.go insertListings":         "has the columns of yp.ListingFields",
	"store/listings.go upsertListing":          "has the columns of yp.ListingFields",
	"store/listings.go upsertTexts":            "has the columns of yp.ListingFields",
	"store/own.go selectKnownOwn":              "has the columns of yp.ListingFields",
	"store/own.go saveOwn":                     "has the columns of yp.ListingFields",
	"store/sql.go newInsert":                   "has as many rows as are inserted at once",
	"store/scope.go InScope":                   "is what statements of a scope are compared with",
	"store/journal.go tuneJournal":             "PRAGMA takes no parameters",
	"store/migrate.go upgrade":                 "PRAGMA takes no parameters",
	"store/migrate.go create":                  "PRAGMA takes no parameters",
	"store/report/list.go listingOfCategory":   "is the condition of a filter of a list",
	"store/report/list.go listingHistory":      "is the condition of a filter of a list",
	"store/report/list.go lastingChange":       "is the condition of a filter of a list",
	"store/report/list.go listingStatus":       "is the condition of a filter of a list",
	"store/report/list.go ListFilters":         "has the conditions of the filters of lists",
	"store/report/list.go Lists":               "has the order of each list",
	"store/report/meant.go asked":              "has sentences",
	"cli/query.go query":                       "has sentences",
	"cli/query.go queryCommand":                "has sentences",
	"store/report/list.go question":            "is made of the filters that are given",
	"store/report/list.go narrow":              "is made of the filters that are given",
	"store/report/place.go behind":             "is made of the order that is asked for",
	"store/report/place.go questionIn":         "is made of the filters that are given",
	"store/report/place.go queueStages":        "has the conditions of stages of a list",
	"store/report/place.go readyFirst":         "is the condition of a stage of a list",
	"store/report/place.go stagesOf":           "has the order that is asked for",
	"store/report/place.go terms":              "is made of the order that is asked for",
	"store/report/listings.go newOrTouched":    "is the condition of a filter of a list",
	"store/report/listings.go all":             "is made of the filters that are given",
	"store/report/told.go readTold":            "is made of the filters that are given",
	"checkpoint/operator.go operations":        "has what an operation sets, and of which targets",
	"checkpoint/operator.go inTrouble":         "is the condition of two operations",
	"checkpoint/operator.go where":             "is made of the operation",
	"checkpoint/operator.go CountChosen":       "is made of the operation",
	"checkpoint/operator.go Operate":           "is made of the operation",
	"crawl/health/monitor.go mendable":         "has the columns with times that a clock may have left too far ahead",
	"crawl/health/monitor.go findAhead":        "is made for each row of mendable",
	"cli/selftest/compare.go complete":         "has the columns of yp.ListingFields",
	"cli/selftest/compare.go load":             "has the columns of yp.ListingFields",
	"cli/selftest/compare.go values":           "has the columns of yp.ListingFields",
	"cli/selftest/compare.go trueListings":     "has the columns of yp.ListingFields",
	"cli/selftest/compare.go foundListings":    "has the columns of yp.ListingFields",
	"cli/selftest/compare.go trueDetails":      "has the columns of yp.ListingFields",
	"cli/selftest/compare.go foundDetails":     "has the columns of yp.ListingFields",
	"cli/selftest/compare.go differences":      "compares two of the others",
	"store/report/locations.go newestListings": "narrowed by what was chosen of the list",
	"store/report/locations.go locationsOf":    "narrowed by what was chosen of the list",
}

var (
	sqlStatement = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|CREATE|DROP|ALTER|PRAGMA|ATTACH|DETACH|VACUUM|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|ANALYZE|EXPLAIN|REINDEX)\b`)
	// sqlPart is what only SQL has, as it is written here.
	sqlPart = regexp.MustCompile(`\bSELECT\s+[\w(*?]|\b(INSERT|REPLACE) INTO\b|\bUPDATE \w+ (AS \w+ )?SET\b|\bDELETE FROM\b|\bPRAGMA\s|\bFROM json_each\(` +
		`|\b(WHERE|JOIN|HAVING|RETURNING|ORDER BY|GROUP BY|UNION ALL|ON CONFLICT|VALUES) |\bIS (NOT )?NULL\b|\bifnull\(|\biif\(| [=<>]=? \?| = NULL\b| IN \(SELECT\b`)
)

// sqlText is a text with SQL in the code.
type sqlText struct {
	at   string // file and declaration
	text string
}

// TestStatementsWhole: a statement is in one piece, so that it can be pasted into sqlite3. What is made at run time is
// generated from a table, and named above.
func TestStatementsWhole(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, f := range goFiles(t) {
		texts := textsOfPackage(f.all)
		f.each(func(at string, decl ast.Node) {
			ast.Inspect(decl, func(n ast.Node) bool {
				if text, glued := made(n, texts); glued || text != "" && sqlPart.MatchString(text) && !sqlStatement.MatchString(text) {
					found[at] = true
				}
				return true
			})
		})
	}
	for _, at := range slices.Sorted(maps.Keys(found)) {
		if generated[at] == "" {
			t.Errorf("%s: a statement is made of parts: write it out, or name it in generated", at)
		}
	}
	for at := range generated {
		if !found[at] {
			t.Errorf("%s: makes no statement", at)
		}
	}
}

// joining are the functions of the standard library that make one text of several.
var joining = []string{"Sprintf", "Fprintf", "Join", "Concat", "Replace", "ReplaceAll", "NewReplacer", "WriteString", "Append"}

// made returns the text that a node is, and whether it makes one with SQL of parts.
func made(n ast.Node, texts map[string]string) (text string, glued bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		return literal(n), false
	case *ast.BinaryExpr:
		return "", n.Op == token.ADD && hasSQL(texts, n.X, n.Y)
	case *ast.AssignStmt:
		return "", n.Tok == token.ADD_ASSIGN && hasSQL(texts, n.Rhs...)
	case *ast.CallExpr:
		fun, ok := n.Fun.(*ast.SelectorExpr)
		return "", ok && slices.Contains(joining, fun.Sel.Name) && hasSQL(texts, n.Args...)
	}
	return "", false
}

// hasSQL reports whether one of the expressions is a text with SQL, or a name of one.
func hasSQL(texts map[string]string, all ...ast.Expr) bool {
	return slices.ContainsFunc(all, func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.BasicLit:
			return sqlPart.MatchString(literal(e))
		case *ast.Ident:
			return sqlPart.MatchString(texts[e.Name])
		case *ast.SelectorExpr:
			return e.Sel.Name == "InScope"
		}
		return false
	})
}

// shared are parts of statements that must be the same wherever they stand: how each begins and ends, with one space between words,
// and in how many places it stands. Where it has other arguments before it, ? is for a parameter of any number.
var shared = map[string]struct {
	begin, end string
	places     int
}{
	"the scope of a command":          {"(?1 = 0 OR t.source_id = ?1) AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2))) AND (?3 = '[]'", "json_each(?6))", 28},
	"what a claim may find":           {"t.status = 'PLANNED' AND t.enabled = 1 AND t.paused = 0 AND t.not_before", "t.retired_at IS NULL", 13},
	"a crawl that begins anew":        {"page_current = 0, next_page_url", "site_total = NULL, crawl_started_at = ", 10},
	"planned again":                   {"status = 'PLANNED', not_before", "wait_reason = NULL", 11},
	"a target that nobody holds":      {"claimed_by = NULL", "heartbeat_at = NULL", 8},
	"the fence of a claim":            {"WHERE id = ? AND claimed_by IS ?", "AND status = ?", 7},
	"what a page adds":                {"page_current = ?, next_page_url = ?", "committed = ?", 2},
	"a target that is done":           {"status = 'DONE', priority = iif(kind = 'detail', 101, priority), finished_at = ?", "shrunk + 1, 0)", 2},
	"what a claim sets":               {"UPDATE targets SET status = 'IN_PROGRESS'", "AND id = (", 3},
	"states that are full":            {"(?8 <> 'search' OR s.value", ">= ?6))", 3},
	"what a claim returns":            {"RETURNING id, claim_token", "AS behind", 3},
	"a death that counts":             {"(?8 IS NULL OR EXISTS (", "= t.claim_token)", 6},
	"a target that a pass leaves":     {"iif(t.last_success_at IS NULL", "t.last_success_at < ?7)", 9},
	"what a pass has failed at":       {"t.status IN ('FAILED', 'STUCK', 'PARKED') AND t.retired_at IS NULL AND NOT", "'NO_LISTINGS')", 2},
	"a pass that read a page there":   {"(?2 = '[]' OR x.selection -> '$.states'", "t.kind = 'search'", 3},
	"the last of drops and restores":  {"(e.kind NOT IN ('dropped'", "'restored')))", 4},
	"since when changes are told":     {"(?5 = '' OR e.at >= ifnull(", "'$.lasting' IS NULL", 3},
	"counts of targets by status":     {"ifnull(100.0 * sum(iif(status IN ('DONE', 'PARKED'), targets", "AS accepted", 4},
	"workers that have not stopped":   {"SELECT worker, state, host, target_id", "json_each(?2))))", 2},
	"events that a mark is asked for": {"id > ? AND at >= ? AND id <= ?", "source_id || '\"'), '')", 4},
	"a city that an index lacks":      {"source_id = ?1 AND crawl <> ?3", "c.state IN (SELECT value FROM json_each(?2)))", 3},
	"a listing without a detail":      {"(l.profile_url IS NOT NULL OR", "d.listing = l.id)", 2},
}

// TestSharedConditions: what several statements must ask alike, they ask in the same words.
func TestSharedConditions(t *testing.T) {
	t.Parallel()
	texts := sqlTexts(t)
	for name, s := range shared {
		first, places := "", 0
		for _, text := range texts {
			query := text.text
			if bare.MatchString(s.begin) {
				query = parameter.ReplaceAllString(query, "?")
			}
			for _, after := range strings.Split(query, s.begin)[1:] {
				part, _, closed := strings.Cut(after, s.end)
				if places++; places == 1 {
					first = part
				}
				if !closed || part != first {
					t.Errorf("%s: %s says %q, another statement %q", name, text.at, part, first)
				}
			}
		}
		if places != s.places {
			t.Errorf("%s: stands in %d places, want %d: does each that was left say the same?", name, places, s.places)
		}
	}
	scope := shared["the scope of a command"]
	if text := strings.TrimSpace(oneLine(InScope)); !strings.HasPrefix(text, scope.begin) || !strings.HasSuffix(text, scope.end) {
		t.Errorf("InScope is %q", text)
	}
}

// TestClaimableIsTheIndexes: a claim finds its target by indexes that have the same condition, word for word.
func TestClaimableIsTheIndexes(t *testing.T) {
	t.Parallel()
	want := "WHERE status = 'PLANNED' AND enabled = 1 AND paused = 0 AND not_before IS NULL AND retired_at IS NULL"
	if n := strings.Count(oneLine(file(t, "../schema.sql")), want); n != 4 {
		t.Errorf("%d indexes have the condition of a claim, want 4", n)
	}
}

var (
	spaces = regexp.MustCompile(`\s+`)
	bare   = regexp.MustCompile(`\?(\D|$)`)
)

// oneLine is SQL with one space between words.
func oneLine(query string) string {
	return strings.NewReplacer("( ", "(", " )", ")").Replace(spaces.ReplaceAllString(query, " "))
}

// sqlTexts are all texts with SQL, each in a line.
func sqlTexts(t *testing.T) (all []sqlText) {
	t.Helper()
	for _, f := range goFiles(t) {
		f.each(func(at string, decl ast.Node) {
			ast.Inspect(decl, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && sqlPart.MatchString(literal(l)) {
					all = append(all, sqlText{at, oneLine(literal(l))})
				}
				return true
			})
		})
	}
	return all
}

// textsOfPackage are the texts of a package's constants and variables by their names.
func textsOfPackage(files []*ast.File) map[string]string {
	texts := map[string]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, v := range spec.Values {
					if l, ok := v.(*ast.BasicLit); ok {
						texts[spec.Names[i].Name] = literal(l)
					}
				}
			}
			return true
		})
	}
	return texts
}

func literal(l *ast.BasicLit) string {
	text, _ := strconv.Unquote(l.Value) // what is no text has none
	return text
}

// goFile is a file of the program, and all of its package.
type goFile struct {
	name string // from the module's folder on
	file *ast.File
	all  []*ast.File
}

// each hands over the declarations of the file with their names.
func (f *goFile) each(do func(at string, decl ast.Node)) {
	for _, decl := range f.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			do(f.name+" "+decl.Name.Name, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					do(f.name+" "+v.Names[0].Name, v)
				}
			}
		}
	}
}

// goFiles parses the program, tests and what only they use left out.
func goFiles(t *testing.T) (all []goFile) {
	t.Helper()
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"storetest", "tools", "testdata", "e2e", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], parsed)
		all = append(all, goFile{strings.TrimPrefix(filepath.ToSlash(path), "../"), parsed, nil})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].all = packages[filepath.Dir(filepath.FromSlash("../"+all[i].name))]
	}
	return all
}
