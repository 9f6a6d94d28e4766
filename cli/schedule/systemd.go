package schedule

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// UnitNames are all units that a job of a name may have, the one that starts the others last.
func UnitNames(name string) []string {
	return []string{name + ".service", name + "-export.service", name + "-failed.service", name + ".timer"}
}

// Systemd returns the units of a job, for systemd from version 249 on.
func (j Job) Systemd() ([]File, error) {
	if err := j.check("a unit of systemd", ""); err != nil {
		return nil, err
	}
	for _, c := range j.commands() {
		if strings.ContainsAny(c[0], `"'\`) { // systemd's own rule
			return nil, fmt.Errorf("%q %w: systemd starts no program whose path has a quote or a backslash; move the program", c[0], ErrWord)
		}
	}
	if strings.HasSuffix(j.Folder, `\`) { // the line would go on
		return nil, fmt.Errorf("%q %w: a unit can't have a folder that ends in \\; rename the folder", j.Folder, ErrWord)
	}
	names := UnitNames(j.Name)
	files := []File{{names[0], j.service(names)}}
	if len(j.After) > 0 {
		files = append(files, File{names[1], j.export(names)})
	}
	if j.Mail != "" {
		files = append(files, File{names[2], j.failed(names)})
	}
	return append(files, File{names[3], j.timer(names)}), nil
}

// control is systemctl or journalctl as it is typed for the units.
func (j Job) control(words string) string {
	if j.System {
		return words
	}
	program, rest, _ := strings.Cut(words, " ")
	return program + " --user " + rest
}

func (j Job) head(unit string) string {
	return comments(Mark+"; --install replaces it, --uninstall removes it.",
		"Changes of your own belong into a file beside it: "+j.control("systemctl edit "+unit)+".") + "\n"
}

func (j Job) service(names []string) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	comment := func(texts ...string) { b.WriteString(comments(texts...)) }
	b.WriteString(j.head(names[0]))
	put("[Unit]")
	put("Description=%s", percents("ypcrawl: "+j.About+", "+j.When.String()))
	if j.System {
		put("Wants=network-online.target\nAfter=network-online.target")
	}
	var after, failed []string
	if len(j.After) > 0 {
		after = []string{names[1]}
		comment("Exports the listings after every crawl, also after one that failed.")
		put("OnSuccess=%s", names[1])
	}
	if failed = after; j.Mail != "" {
		failed = append(slices.Clone(after), names[2])
	} else {
		comment("A failure is reported to nobody: pass --mailto ADDRESS, or name a unit of your own in OnFailure=.")
	}
	if len(failed) > 0 {
		put("OnFailure=%s", strings.Join(failed, " "))
	}
	comment("After a crash it is started again, at most a few times.")
	put("StartLimitIntervalSec=1h\nStartLimitBurst=5\n")
	put("[Service]")
	comment("The program reports its start, its progress (systemctl status) and its heartbeat to systemd.")
	put("Type=notify")
	j.place(&b)
	put("ExecStart=%s", execLine(j.Crawl))
	comment("4: a budget is used up, and the next start resumes. 130: it was stopped.", "All codes: ypcrawl help exit-codes")
	put("SuccessExitStatus=4 130")
	comment("After a crash (signal, watchdog, time-out) it is started again and resumes. After an exit", "code of its own it waits for the next start.")
	put("Restart=on-abnormal\nRestartSec=60")
	comment("Planning a large crawl or upgrading a large database takes time before the first page.")
	put("TimeoutStartSec=3600")
	if j.Limit > 0 {
		comment(fmt.Sprintf("It ends by itself (--max-duration). One that hangs is killed after %s seconds.", seconds(j.hard())))
		put("RuntimeMaxSec=%s", seconds(j.hard()))
	}
	comment("The crawl hangs if no heartbeat is written, or if no request ends and nothing is waited for.")
	put("WatchdogSec=300")
	comment("A stop finishes the current pages: one request each, and one for robots.txt (--request-timeout).")
	put("TimeoutStopSec=%s\nKillMode=mixed\n", seconds(j.Stop))
	j.harden(&b)
	return b.String()
}

func (j Job) export(names []string) string {
	var b strings.Builder
	b.WriteString(j.head(names[1]))
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\n", percents("ypcrawl: exports of "+j.About))
	if j.Mail != "" {
		fmt.Fprintf(&b, "OnFailure=%s\n", names[2])
	}
	b.WriteString("\n[Service]\nType=oneshot\n")
	j.place(&b)
	for _, c := range j.After {
		fmt.Fprintf(&b, "ExecStart=%s\n", execLine(c))
	}
	b.WriteString("TimeoutStartSec=7200\n\n")
	j.harden(&b)
	return b.String()
}

func (j Job) failed(names []string) string {
	status := j.control("systemctl status --full --no-pager --lines=50 " + names[0])
	script := "{ echo 'To: " + j.Mail + "'; echo 'Subject: ypcrawl failed: " + j.Name + "'; echo; " + status + "; } | sendmail -t"
	return j.head(names[2]) + "[Unit]\nDescription=" + percents("ypcrawl: mail that "+j.Name+" failed") + "\n\n[Service]\nType=oneshot\n" +
		comments("Wants a mail program that provides sendmail.") +
		"Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n" +
		"ExecStart=" + execLine([]string{"/bin/sh", "-c", script}) + "\nTimeoutStartSec=120\n"
}

func (j Job) timer(names []string) string {
	clock := fmt.Sprintf("%02d:%02d:00", j.When.Hour, j.When.Min)
	at := "*-*-* " + clock
	switch w := j.When; {
	case w.Every >= time.Hour:
		at = fmt.Sprintf("*-*-* 00/%d:00:00", w.Every/time.Hour)
	case w.Every > 0:
		at = fmt.Sprintf("*-*-* *:00/%d:00", w.Every/time.Minute)
	case len(w.Days) > 0:
		short := make([]string, len(w.Days))
		for i, d := range w.Days {
			short[i] = d.String()[:3]
		}
		at = strings.Join(short, ",") + " " + at
	}
	return j.head(names[3]) + "[Unit]\nDescription=" + percents("ypcrawl: "+j.About+", "+j.When.String()) + "\n\n[Timer]\n" +
		"OnCalendar=" + at + "\n" + comments("A start that was missed, because the machine was off, is made up for.") +
		"Persistent=true\nUnit=" + names[0] + "\n\n[Install]\nWantedBy=timers.target\n"
}

// place says where and as whom the commands run.
func (j Job) place(b *strings.Builder) {
	if j.User != "" {
		fmt.Fprintf(b, "User=%s\n", j.User)
	}
	fmt.Fprintf(b, "WorkingDirectory=%s\n", percents(j.Folder))
}

// harden says what the commands may do. The service manager of a user has no right to shut the
// file system.
func (j Job) harden(b *strings.Builder) {
	b.WriteString(comments("What it may do: what a program does that reads and writes files and talks to sites.") + `NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
UMask=0077
`)
	if !j.System {
		return
	}
	b.WriteString(`CapabilityBoundingSet=
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
RemoveIPC=yes
`)
	home, tmp := "yes", "yes"
	for _, path := range j.paths() {
		if below(path, "/home", "/root", "/run/user") {
			home = "read-only"
		}
		if below(path, "/tmp", "/var/tmp") {
			tmp = "no"
		}
	}
	b.WriteString(comments("It sees the file system as it is, and writes to these folders alone.") + "ProtectSystem=strict\n")
	fmt.Fprintf(b, "ProtectHome=%s\nPrivateTmp=%s\n", home, tmp)
	quoted := make([]string, len(j.Writes))
	for i, w := range j.Writes {
		quoted[i] = unitWord(w)
	}
	fmt.Fprintf(b, "ReadWritePaths=%s\n", strings.Join(quoted, " "))
}

// paths are all that a command may need to see.
func (j Job) paths() []string {
	all := append(slices.Concat(j.Writes, j.Reads), j.Folder)
	for _, c := range j.commands() {
		all = append(all, c...)
	}
	return all
}

func below(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		rel, err := filepath.Rel(f, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// percents doubles the percent signs, with which systemd's own words begin.
func percents(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// unitWord quotes a word of a list.
func unitWord(w string) string {
	if !plain.MatchString(w) {
		w = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
	}
	return percents(w)
}

// execLine writes a command. The colon before it keeps dollar signs as they are.
func execLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = unitWord(w)
	}
	line := strings.Join(quoted, " ")
	if strings.Contains(line, "$") {
		return ":" + line
	}
	return line
}
