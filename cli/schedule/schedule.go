package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// Mark stands in the first lines of every file: what has it may be replaced and removed.
const Mark = "Made by `ypcrawl schedule`"

// ErrWord is in the error of a job with a word that a format can't hold.
var ErrWord = errors.New("can't be written there")

// Job is what is to be done, and when. All paths are absolute.
type Job struct {
	Name   string     // of the units: letters, digits, - and _
	About  string     // for people: "CA TX"
	Folder string     // the working folder of the commands
	Crawl  []string   // program and arguments
	After  [][]string // commands for when the crawl has ended, however it did
	When   When

	Limit  time.Duration // the crawl ends by itself by then; 0 = no limit
	Stop   time.Duration // the longest that it takes to end after a signal
	Writes []string      // folders that the commands write to
	Reads  []string      // files that they read beside those that their words name
	Mail   string        // the address that gets mail of failures; "" = none

	System bool   // systemd: units of the system, not of a user
	User   string // systemd: whom units of the system run as
}

// File is a file for a scheduler.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// When says when a job starts, by the machine's clock.
type When struct {
	Days  []time.Weekday // weekly, on these; none = daily
	Hour  int
	Min   int
	Every time.Duration // instead: so often, from midnight on
}

// String says it to people: "each day at 03:00".
func (w When) String() string {
	clock := fmt.Sprintf(" at %02d:%02d", w.Hour, w.Min)
	switch {
	case w.Every == time.Hour:
		return "every hour"
	case w.Every%time.Hour == 0 && w.Every > 0:
		return fmt.Sprintf("every %d hours", w.Every/time.Hour)
	case w.Every > 0:
		return fmt.Sprintf("every %d minutes", w.Every/time.Minute)
	case len(w.Days) == 0:
		return "each day" + clock
	}
	names := make([]string, len(w.Days))
	for i, d := range w.Days {
		names[i] = d.String()
	}
	return "each " + strings.Join(names, " and ") + clock
}

// Period is the shortest time between two starts.
func (w When) Period() time.Duration {
	const day = 24 * time.Hour
	switch {
	case w.Every > 0:
		return w.Every
	case len(w.Days) == 0:
		return day
	}
	least := 7 * day
	for i, d := range w.Days {
		next := w.Days[(i+1)%len(w.Days)]
		if gap := (int(next) - int(d) + 7) % 7; gap > 0 {
			least = min(least, time.Duration(gap)*day)
		}
	}
	return least
}

var clockTime = regexp.MustCompile(`^([01]?[0-9]|2[0-3]):([0-5][0-9])$`)

// Daily reads "03:00".
func Daily(clock string) (w When, err error) {
	m := clockTime.FindStringSubmatch(strings.TrimSpace(clock))
	if m == nil {
		return w, fmt.Errorf("%q: want a time of day like 03:00", clock)
	}
	_, err = fmt.Sscan(m[1]+" "+m[2], &w.Hour, &w.Min)
	return w, err
}

// Weekly reads "SUN 03:00" and "Mon Thursday 22:30".
func Weekly(words []string) (When, error) {
	words = strings.Fields(strings.NewReplacer(",", " ").Replace(strings.Join(words, " ")))
	if len(words) < 2 {
		return When{}, fmt.Errorf("%q: want a day and a time, like SUN 03:00", strings.Join(words, " "))
	}
	w, err := Daily(words[len(words)-1])
	if err != nil {
		return w, err
	}
	for _, word := range words[:len(words)-1] {
		day := slices.IndexFunc(days, func(d time.Weekday) bool {
			return len(word) >= 2 && len(word) <= len(d.String()) && strings.EqualFold(word, d.String()[:len(word)])
		})
		if day < 0 {
			return w, fmt.Errorf("%q is not a day: want SUN, MON, TUE, WED, THU, FRI or SAT", word)
		}
		if !slices.Contains(w.Days, time.Weekday(day)) {
			w.Days = append(w.Days, time.Weekday(day))
		}
	}
	slices.Sort(w.Days)
	return w, nil
}

var days = []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}

// Every takes a time that divides an hour or a day: others can't be said to cron.
func Every(d time.Duration) (When, error) {
	hours := d >= time.Hour && d%time.Hour == 0 && 24*time.Hour%d == 0 && d < 24*time.Hour
	minutes := d >= 5*time.Minute && d < time.Hour && d%time.Minute == 0 && time.Hour%d == 0
	if !hours && !minutes {
		return When{}, errors.New("want 1h, 2h, 3h, 4h, 6h, 8h or 12h, or 5m, 6m, 10m, 12m, 15m, 20m or 30m")
	}
	return When{Every: d}, nil
}

// Below is the job on a machine whose root folder is root here: an image, or what becomes a
// package. Program and folders must lie in it.
func (j Job) Below(root string) (Job, error) {
	inside := func(words []string) []string {
		words = slices.Clone(words)
		for i, w := range words {
			flag := ""
			if name, value, valued := strings.Cut(w, "="); valued && strings.HasPrefix(w, "-") {
				flag, w = name+"=", value
			}
			if below(w, root) {
				words[i] = flag + "/" + strings.TrimPrefix(strings.TrimPrefix(w, root), "/")
			}
		}
		return words
	}
	for _, path := range append(slices.Clone(j.Writes), j.Folder, j.Crawl[0]) {
		if !below(path, root) {
			return j, fmt.Errorf("%s does not lie in %s", path, root)
		}
	}
	j.Folder, j.Crawl, j.After = inside([]string{j.Folder})[0], inside(j.Crawl), slices.Clone(j.After)
	for i := range j.After {
		j.After[i] = inside(j.After[i])
	}
	j.Writes, j.Reads = inside(j.Writes), inside(j.Reads)
	return j, nil
}

// commands are all commands in their order.
func (j Job) commands() [][]string { return append([][]string{j.Crawl}, j.After...) }

var (
	name    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	address = regexp.MustCompile(`^[A-Za-z0-9._+-]+(@[A-Za-z0-9.-]+)?$`)
	account = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
)

// check refuses what no format can hold, and words that hold one of bad.
func (j Job) check(format, bad string) error {
	switch {
	case !name.MatchString(j.Name) || strings.Contains(j.Name, "--"): // two end a comment of XML
		return fmt.Errorf("the name %q %w: want letters, digits, single - and _, at most 64", j.Name, ErrWord)
	case j.Mail != "" && !address.MatchString(j.Mail):
		return fmt.Errorf("the address %q %w: want one like me@example.org", j.Mail, ErrWord)
	case j.User != "" && !account.MatchString(j.User):
		return fmt.Errorf("the user %q %w: want the name of an account", j.User, ErrWord)
	}
	words := slices.Concat(append(j.commands(), []string{j.Folder, j.About}, j.Writes)...)
	for _, w := range words {
		if w != yp.Printable(w) || strings.TrimSpace(w) != w {
			return fmt.Errorf("%q %w: it has control characters, or a space at its beginning or end; rename the file", w, ErrWord)
		}
		if strings.ContainsAny(w, bad) {
			return fmt.Errorf("%q %w: %s can't hold %s in a command; rename the file, or move the setting to ypcrawl.yaml", w, ErrWord, format, strings.Join(strings.Split(bad, ""), " or "))
		}
	}
	return nil
}

// hard is when a crawl that has not ended by itself is ended.
func (j Job) hard() time.Duration { return j.Limit + max(j.Limit/10, 15*time.Minute) }

// seconds writes a time as systemd and launchd take it.
func seconds(d time.Duration) string { return fmt.Sprint(int64(d.Round(time.Second) / time.Second)) }

// ShellWord quotes a word for sh.
func ShellWord(w string) string {
	if plain.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// plain is a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_./:=,@%+-]+$`)

func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// comments are lines that the reader of a file leaves out.
func comments(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		b.WriteString("# " + t + "\n")
	}
	return b.String()
}
