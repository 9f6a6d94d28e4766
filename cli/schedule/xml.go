package schedule

import (
	"encoding/xml"
	"fmt"
	"path"
	"strings"
	"time"
)

// escape is a text as XML holds it.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

// Launchd returns the property list for a Mac.
func (j Job) Launchd() ([]File, error) {
	if err := j.check("a property list", ""); err != nil {
		return nil, err
	}
	label := "local." + j.Name
	words := j.Crawl
	if len(j.After) > 0 {
		var script []string
		for _, c := range j.commands() {
			script = append(script, shellLine(c))
		}
		words = []string{"/bin/sh", "-c", strings.Join(script, "; ")}
	}
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put(`<?xml version="1.0" encoding="UTF-8"?>`)
	put(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">`)
	put("<!-- %s. Save it as ~/Library/LaunchAgents/%s.plist, then:", Mark, label)
	put("     launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/%s.plist", label)
	put("     It starts %s, by this machine's clock; a start missed during sleep is made up for", j.When)
	put("     on waking. It runs while you are logged in. To take it back: launchctl bootout gui/$(id -u)/%s -->", label)
	put("<plist version=\"1.0\">\n<dict>")
	put("\t<key>Label</key>\n\t<string>%s</string>", label)
	put("\t<key>ProgramArguments</key>\n\t<array>")
	for _, w := range words {
		put("\t\t<string>%s</string>", escape(w))
	}
	put("\t</array>")
	put("\t<key>WorkingDirectory</key>\n\t<string>%s</string>", escape(j.Folder))
	if w := j.When; w.Every > 0 {
		put("\t<key>StartInterval</key>\n\t<integer>%s</integer>", seconds(w.Every))
	} else {
		put("\t<key>StartCalendarInterval</key>\n\t<array>")
		for _, day := range orAny(w.Days) {
			put("\t\t<dict>")
			if day >= 0 {
				put("\t\t\t<key>Weekday</key>\n\t\t\t<integer>%d</integer>", int(day))
			}
			put("\t\t\t<key>Hour</key>\n\t\t\t<integer>%d</integer>\n\t\t\t<key>Minute</key>\n\t\t\t<integer>%d</integer>\n\t\t</dict>", w.Hour, w.Min)
		}
		put("\t</array>")
	}
	put("\t<!-- what it prints: nothing on a normal day -->")
	put("\t<key>StandardOutPath</key>\n\t<string>%s</string>", escape(path.Join(j.Folder, j.Name+".log")))
	put("\t<key>StandardErrorPath</key>\n\t<string>%s</string>", escape(path.Join(j.Folder, j.Name+".log")))
	put("\t<!-- a stop finishes the current pages -->")
	put("\t<key>ExitTimeOut</key>\n\t<integer>%s</integer>", seconds(j.Stop))
	put("\t<key>ProcessType</key>\n\t<string>Background</string>")
	put("\t<key>Umask</key>\n\t<integer>63</integer>\n</dict>\n</plist>")
	return []File{{label + ".plist", b.String()}}, nil
}

// orAny is the days, or one that stands for each.
func orAny(days []time.Weekday) []time.Weekday {
	if len(days) == 0 {
		return []time.Weekday{-1}
	}
	return days
}

// TaskScheduler returns the task for Windows. It names no encoding, so that it can be imported from
// a file (schtasks) and from a text (Register-ScheduledTask) alike.
func (j Job) TaskScheduler() ([]File, error) {
	if err := j.check("the Task Scheduler", ""); err != nil {
		return nil, err
	}
	for _, c := range j.commands() {
		for _, text := range []string{c[0], strings.Join(c[1:], " "), j.Folder} {
			if strings.Count(text, "%") > 1 || strings.Contains(text, "$(") { // %NAME% and $(Arg0) become values
				return nil, fmt.Errorf("%q %w: the Task Scheduler takes what stands between two %%, and behind $(, for a variable", text, ErrWord)
			}
		}
	}
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put(`<?xml version="1.0"?>`)
	put("<!-- %s. Save it as %s.xml, then, as an administrator:", Mark, j.Name)
	put("     schtasks /create /tn %s /xml %s.xml", j.Name, j.Name)
	put("     To start it now: schtasks /run /tn %s. To remove it: schtasks /delete /tn %s -->", j.Name, j.Name)
	put(`<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">`)
	put("  <RegistrationInfo>\n    <Description>%s</Description>\n  </RegistrationInfo>", escape("ypcrawl: "+j.About+", "+j.When.String()))
	put("  <Triggers>")
	const clock = "    <%s>\n%s      <StartBoundary>2026-01-01T%02d:%02d:00</StartBoundary>\n      <Enabled>true</Enabled>\n%s    </%[1]s>"
	switch w := j.When; {
	case w.Every > 0:
		again := fmt.Sprintf("      <Repetition>\n        <Interval>PT%dM</Interval>\n      </Repetition>\n", w.Every/time.Minute)
		put(clock, "TimeTrigger", again, 0, 0, "")
	case len(w.Days) > 0:
		on := ""
		for _, d := range w.Days {
			on += "<" + d.String() + " />"
		}
		put(clock, "CalendarTrigger", "", w.Hour, w.Min,
			"      <ScheduleByWeek>\n        <DaysOfWeek>"+on+"</DaysOfWeek>\n        <WeeksInterval>1</WeeksInterval>\n      </ScheduleByWeek>\n")
	default:
		put(clock, "CalendarTrigger", "", w.Hour, w.Min, "      <ScheduleByDay>\n        <DaysInterval>1</DaysInterval>\n      </ScheduleByDay>\n")
	}
	put("  </Triggers>")
	put("  <!-- S4U: also while nobody is logged on, without a stored password -->")
	put("  <Principals>\n    <Principal id=\"Author\">\n      <LogonType>S4U</LogonType>\n      <RunLevel>LeastPrivilege</RunLevel>\n    </Principal>\n  </Principals>")
	put("  <Settings>\n    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>")
	put("    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>\n    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>")
	put("    <!-- a start that was missed, because the machine was off, is made up for -->\n    <StartWhenAvailable>true</StartWhenAvailable>")
	put("    <RunOnlyIfNetworkAvailable>true</RunOnlyIfNetworkAvailable>\n    <Enabled>true</Enabled>")
	limit := "PT0S" // none
	if j.Limit > 0 {
		limit = fmt.Sprintf("PT%dM", j.hard()/time.Minute)
	}
	put("    <ExecutionTimeLimit>%s</ExecutionTimeLimit>\n  </Settings>", limit)
	put("  <Actions Context=\"Author\">")
	for _, c := range j.commands() {
		args := make([]string, len(c)-1)
		for i, w := range c[1:] {
			args[i] = windowsWord(w)
		}
		put("    <Exec>\n      <Command>%s</Command>\n      <Arguments>%s</Arguments>\n      <WorkingDirectory>%s</WorkingDirectory>\n    </Exec>",
			escape(c[0]), escape(strings.Join(args, " ")), escape(j.Folder))
	}
	put("  </Actions>\n</Task>")
	return []File{{j.Name + ".xml", b.String()}}, nil
}

// windowsWord quotes a word by the rules by which programs on Windows take their line apart:
// backslashes count only before a quote.
func windowsWord(w string) string {
	if plainWindows(w) {
		return w
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := range len(w) {
		switch w[i] {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(w[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes) + `"`)
	return b.String()
}

func plainWindows(w string) bool { return w != "" && !strings.ContainsAny(w, " \t\"") }
