package schedule

import (
	"fmt"
	"strings"
	"time"
)

// longestCronLine is what the cron of Debian and of the BSDs takes.
const longestCronLine = 998

// Cron returns the lines for a crontab.
func (j Job) Cron() ([]File, error) {
	if err := j.check("a crontab", `\`); err != nil { // what cron makes of it before a percent sign, each cron has its own idea of
		return nil, err
	}
	commands := make([]string, 0, 1+len(j.After))
	for _, c := range j.commands() {
		commands = append(commands, shellLine(c))
	}
	command := commands[0]
	if len(commands) > 1 {
		command = "{ " + strings.Join(commands, "; ") + "; }"
	}
	// cron takes a percent sign for the end of the line, and the shell never sees the backslash.
	line := j.cronTime() + " " + strings.ReplaceAll("cd "+ShellWord(j.Folder)+" && "+command, "%", `\%`)
	if len(line) > longestCronLine {
		return nil, fmt.Errorf("the line has %d characters, and some crons read only %d: move settings to ypcrawl.yaml (states: [CA, TX]), or use another scheduler", len(line), longestCronLine)
	}
	mail := "# MAILTO=you@example.org"
	if j.Mail != "" {
		mail = "MAILTO=" + j.Mail
	}
	text := comments(Mark+"; `crontab -e` opens the file it belongs into.",
		j.About+": "+j.When.String()+", by this machine's clock.",
		"cron mails what is printed. With --quiet that is nothing on a normal day.",
		"Two crawls at once are none (--exclusive), and one that takes too long ends by itself",
		"(--max-duration): the next one goes on. A start that was missed is not made up for.",
		"The lines with = hold for all lines below them.") +
		"SHELL=/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\n" + mail + "\n" + line + "\n"
	return []File{{j.Name + ".crontab", text}}, nil
}

func (j Job) cronTime() string {
	w := j.When
	switch {
	case w.Every >= time.Hour:
		return fmt.Sprintf("0 */%d * * *", w.Every/time.Hour)
	case w.Every > 0:
		return fmt.Sprintf("*/%d * * * *", w.Every/time.Minute)
	}
	on := make([]string, len(w.Days))
	for i, d := range w.Days {
		on[i] = fmt.Sprint(int(d))
	}
	if len(on) == 0 {
		on = []string{"*"}
	}
	return fmt.Sprintf("%d %d * * %s", w.Min, w.Hour, strings.Join(on, ","))
}
