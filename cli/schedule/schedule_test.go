package schedule

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hard are words that a careless writer breaks.
func hard() []string {
	return []string{
		"", "plain", "two words", "100%", "%h", "%%", "{date}.csv", "$HOME", "${HOME}", "$$", "it's", `say "hi"`, "a&b", "<x>", "a;b", "#no", "~", "*", "(x)", "`id`", "!",
		"é中", "-", "--x", "a'b\"c", "&amp;", "]]>", "x\u00a0y", "|", "@", "+", ":", "=", "back`tick", "$(id)",
	}
}

func job() Job {
	w, _ := Daily("03:05")
	return Job{
		Name: "yp", About: "CA TX", Folder: "/srv/my crawl", Crawl: []string{"/opt/my bin/yp%crawl", "run"}, When: w, Limit: 5 * time.Hour, Stop: 90 * time.Second,
		Writes: []string{"/srv/my crawl"},
	}
}

func text(t *testing.T, files []File, err error, name string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == name {
			if !strings.Contains(f.Text, Mark) {
				t.Errorf("%s has no mark", name)
			}
			return f.Text
		}
	}
	t.Fatalf("no file %s", name)
	return ""
}

// value is the last line of a unit with a key.
func value(t *testing.T, unit, key string) string {
	t.Helper()
	for _, line := range slices.Backward(strings.Split(unit, "\n")) {
		if v, ok := strings.CutPrefix(line, key+"="); ok {
			return v
		}
	}
	t.Fatalf("no %s in\n%s", key, unit)
	return ""
}

// unitWords reads a line as systemd does: extract_first_word with unquoting and C escapes, then
// specifiers, then variables unless a colon forbids them.
func unitWords(line string) (words []string, ok bool) {
	variables := true
	if rest, found := strings.CutPrefix(line, ":"); found {
		line, variables = rest, false
	}
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var w strings.Builder
		quote := byte(0)
		i := 0
		for ; i < len(line) && (quote != 0 || line[i] != ' '); i++ {
			switch c := line[i]; {
			case c == '\\':
				if i++; i == len(line) || line[i] != '\\' && line[i] != '"' && line[i] != '\'' {
					return nil, false // an escape of another meaning
				}
				w.WriteByte(line[i])
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case c == quote && quote != 0:
				quote = 0
			default:
				w.WriteByte(c)
			}
		}
		if quote != 0 {
			return nil, false
		}
		line = line[i:]
		plain := strings.ReplaceAll(w.String(), "%%", "\x00")
		if strings.Contains(plain, "%") || variables && strings.Contains(plain, "$") {
			return nil, false
		}
		words = append(words, strings.ReplaceAll(plain, "\x00", "%"))
	}
	return words, true
}

// shellWords reads a line as sh does, as far as ShellWord writes it.
func shellWords(line string) (words []string, ok bool) {
	var w strings.Builder
	begun, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case quoted:
			w.WriteByte(c)
		case c == ' ':
			if begun {
				words = append(words, w.String())
				w.Reset()
			}
			begun = false
		case c == '\\':
			if i++; i == len(line) {
				return nil, false
			}
			w.WriteByte(line[i])
			begun = true
		case strings.IndexByte("$`\"&;|<>()*?[]#~!{}\n\t", c) >= 0:
			return nil, false
		default:
			w.WriteByte(c)
			begun = true
		}
	}
	if begun {
		words = append(words, w.String())
	}
	return words, !quoted
}

// cronCommand is the command of a line of a crontab, as cron hands it to the shell.
func cronCommand(t *testing.T, text string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	fields := strings.SplitN(lines[len(lines)-1], " ", 6)
	var b strings.Builder
	for i, rest := 0, fields[5]; i < len(rest); i++ {
		if rest[i] == '%' {
			t.Fatalf("a percent sign ends the command: %s", rest)
		}
		if rest[i] == '\\' && i+1 < len(rest) && rest[i+1] == '%' {
			i++
		}
		b.WriteByte(rest[i])
	}
	return b.String()
}

// windowsWords reads a line as CommandLineToArgvW does behind the program's name.
func windowsWords(line string) (words []string) {
	for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
		var w strings.Builder
		quoted := false
		i := 0
		for i < len(line) && (quoted || line[i] != ' ' && line[i] != '\t') {
			slashes := 0
			for i < len(line) && line[i] == '\\' {
				slashes++
				i++
			}
			if i == len(line) || line[i] != '"' {
				w.WriteString(strings.Repeat(`\`, slashes))
				if slashes == 0 {
					w.WriteByte(line[i])
					i++
				}
				continue
			}
			w.WriteString(strings.Repeat(`\`, slashes/2))
			if slashes%2 == 1 {
				w.WriteByte('"')
			} else {
				quoted = !quoted
			}
			i++
		}
		words, line = append(words, w.String()), line[i:]
	}
	return words
}

// all is the text of the elements of a name, in their order.
func all(t *testing.T, text, name string) (found []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == name {
			s := ""
			if err := d.DecodeElement(&s, &e); err != nil {
				t.Fatal(err)
			}
			found = append(found, s)
		}
	}
}

// TestWords: each word comes out of each format as it went in.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, w := range hard() {
		t.Run(w, func(t *testing.T) {
			t.Parallel()
			readBack(t, w)
		})
	}
}

func readBack(t *testing.T, w string) {
	t.Helper()
	j := job()
	j.System = true
	j.Crawl = append(j.Crawl, w, "end")
	j.Folder = "/srv/" + strings.Trim(w, "/")
	j.Writes = []string{j.Folder, "/x"}
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s of %q (-want +got):\n%s", what, w, diff)
		}
	}

	files, err := j.Systemd()
	if err == nil {
		unit := text(t, files, err, "yp.service")
		got, ok := unitWords(value(t, unit, "ExecStart"))
		same("ExecStart is read", ok, true)
		same("ExecStart", got, j.Crawl)
		got, _ = unitWords(":" + value(t, unit, "ReadWritePaths")) // where dollars mean nothing
		same("ReadWritePaths", got, j.Writes)
		same("WorkingDirectory", strings.ReplaceAll(value(t, unit, "WorkingDirectory"), "%%", "%"), j.Folder)
	}
	if files, err = j.Cron(); err == nil {
		command := cronCommand(t, text(t, files, err, "yp.crontab"))
		got, ok := shellWords(strings.ReplaceAll(command, " && ", " "))
		same("cron is read", ok, true)
		same("cron", got, append([]string{"cd", j.Folder}, j.Crawl...))
	}
	if files, err = j.Launchd(); err == nil {
		got := all(t, text(t, files, err, "local.yp.plist"), "string")
		same("launchd", got[1:len(j.Crawl)+2], append(slices.Clone(j.Crawl), j.Folder))
	}
	j.Crawl[0] = "C:/yp crawl"
	if files, err = j.TaskScheduler(); err == nil {
		task := text(t, files, err, "yp.xml")
		same("Command", all(t, task, "Command"), j.Crawl[:1])
		same("Arguments", windowsWords(all(t, task, "Arguments")[0]), j.Crawl[1:])
		same("WorkingDirectory of the task", all(t, task, "WorkingDirectory"), []string{j.Folder})
	}
}

// FuzzWords: a word is read back as it was, or refused.
func FuzzWords(f *testing.F) {
	for _, w := range append(hard(), `a\`, `\"`, `c:\x y\`, "\n", "\xff", "a\\%b", `\\" x`) {
		f.Add(w)
	}
	f.Fuzz(readBack)
}

// TestShell: sh itself reads what cron hands it.
func TestShell(t *testing.T) {
	t.Parallel()
	j := job()
	j.Folder = "/"
	j.Crawl = append([]string{"printf", `%s\n`}, hard()...)
	j.Crawl[1] = "%s|"
	files, err := j.Cron()
	command := cronCommand(t, text(t, files, err, "yp.crontab"))
	out, err := exec.Command("sh", "-c", command).Output()
	if want := strings.Join(hard(), "|") + "|"; err != nil || string(out) != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, out, want)
	}
}

// TestRefused: what no format can hold.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Job)
		print  func(Job) ([]File, error)
	}{
		"a line break":            {func(j *Job) { j.Crawl = append(j.Crawl, "a\nUser=root") }, Job.Systemd},
		"a line break in cron":    {func(j *Job) { j.Folder = "/x\n* * * * * id" }, Job.Cron},
		"no UTF-8":                {func(j *Job) { j.Crawl[0] = "/x\xff" }, Job.Launchd},
		"a space at an end":       {func(j *Job) { j.Folder = "/x " }, Job.Systemd},
		"a folder that goes on":   {func(j *Job) { j.Folder = `/x\` }, Job.Systemd},
		"a backslash in cron":     {func(j *Job) { j.Folder = `/x\y` }, Job.Cron},
		"a variable of Windows":   {func(j *Job) { j.Folder = `C:\%TEMP%` }, Job.TaskScheduler},
		"a program in quotes":     {func(j *Job) { j.Crawl[0] = `/it's/x` }, Job.Systemd},
		"a name with a slash":     {func(j *Job) { j.Name = "../x" }, Job.Systemd},
		"a name that ends XML":    {func(j *Job) { j.Name = "a--b" }, Job.Launchd},
		"an address with a quote": {func(j *Job) { j.Mail = "me'; id" }, Job.Systemd},
		"a user with a line":      {func(j *Job) { j.User = "me\nx" }, Job.Systemd},
		"a title with a line":     {func(j *Job) { j.About = "x\n[Service]" }, Job.Systemd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job()
			tt.change(&j)
			if files, err := tt.print(j); !errors.Is(err, ErrWord) || files != nil {
				t.Errorf("%v, %v", files, err)
			}
		})
	}
	j := job()
	j.Crawl = append(j.Crawl, strings.Repeat("x", 1000))
	if _, err := j.Cron(); err == nil || !strings.Contains(err.Error(), "move settings to ypcrawl.yaml") {
		t.Errorf("a line that is too long: %v", err)
	}
}

func TestWhen(t *testing.T) {
	t.Parallel()
	daily := func(s string) func() (When, error) { return func() (When, error) { return Daily(s) } }
	weekly := func(s ...string) func() (When, error) { return func() (When, error) { return Weekly(s) } }
	every := func(d time.Duration) func() (When, error) { return func() (When, error) { return Every(d) } }
	for name, tt := range map[string]struct {
		read                 func() (When, error)
		says, calendar, cron string
		period               time.Duration
	}{
		"daily":   {daily("3:05"), "each day at 03:05", "*-*-* 03:05:00", "5 3 * * *", 24 * time.Hour},
		"weekly":  {weekly("SUN", "22:30"), "each Sunday at 22:30", "Sun *-*-* 22:30:00", "30 22 * * 0", 168 * time.Hour},
		"in one":  {weekly("thursday,mon 00:00"), "each Monday and Thursday at 00:00", "Mon,Thu *-*-* 00:00:00", "0 0 * * 1,4", 72 * time.Hour},
		"hours":   {every(6 * time.Hour), "every 6 hours", "*-*-* 00/6:00:00", "0 */6 * * *", 6 * time.Hour},
		"hour":    {every(time.Hour), "every hour", "*-*-* 00/1:00:00", "0 */1 * * *", time.Hour},
		"minutes": {every(15 * time.Minute), "every 15 minutes", "*-*-* *:00/15:00", "*/15 * * * *", 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job()
			var err error
			if j.When, err = tt.read(); err != nil {
				t.Fatal(err)
			}
			files, err := j.Systemd()
			calendar := value(t, text(t, files, err, "yp.timer"), "OnCalendar")
			if j.When.String() != tt.says || calendar != tt.calendar || j.cronTime() != tt.cron || j.When.Period() != tt.period {
				t.Errorf("%s; %s; %s; %s", j.When, calendar, j.cronTime(), j.When.Period())
			}
		})
	}
	for _, read := range []func() (When, error){
		daily("24:00"), daily("3"), daily("03:60"), daily(""), weekly("03:00"), weekly("SUN"), weekly("S", "03:00"), weekly("SUNX", "03:00"), weekly(),
		every(5 * time.Hour), every(24 * time.Hour), every(0), every(time.Minute), every(90 * time.Minute), every(30 * time.Second),
	} {
		if w, err := read(); err == nil {
			t.Errorf("%s was taken", w)
		}
	}
}

// TestOtherTimes: the days and the times of launchd and of Windows.
func TestOtherTimes(t *testing.T) {
	t.Parallel()
	j := job()
	j.When, _ = Weekly([]string{"SUN", "TUE", "04:30"})
	files, err := j.Launchd()
	if diff := cmp.Diff([]string{"0", "4", "30", "2", "4", "30", "90", "63"}, all(t, text(t, files, err, "local.yp.plist"), "integer")); diff != "" {
		t.Error(diff)
	}
	j.Crawl[0] = "/opt/yp"
	files, err = j.TaskScheduler()
	task := text(t, files, err, "yp.xml")
	if !strings.Contains(task, "<DaysOfWeek><Sunday /><Tuesday /></DaysOfWeek>") || all(t, task, "StartBoundary")[0] != "2026-01-01T04:30:00" || all(t, task, "ExecutionTimeLimit")[0] != "PT330M" {
		t.Errorf("%s", task)
	}
	j.When, _ = Every(6 * time.Hour)
	j.After = [][]string{{"/bin/x", "a b"}}
	files, err = j.Launchd()
	plist := text(t, files, err, "local.yp.plist")
	if words := all(t, plist, "string"); words[3] != `/opt/yp run; /bin/x 'a b'` || all(t, plist, "integer")[0] != "21600" {
		t.Errorf("%s", plist)
	}
	files, err = j.TaskScheduler()
	task = text(t, files, err, "yp.xml")
	if all(t, task, "Interval")[0] != "PT360M" || len(all(t, task, "Command")) != 2 {
		t.Errorf("%s", task)
	}
}
