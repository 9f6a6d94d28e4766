package cli

import (
	"slices"
	"strings"

	"ypcrawl/cli/frame"
)

// resumeLine is the command line that goes on, to be pasted into a shell: what was typed without the values that are secret, and the
// names of the flags of which some are left out.
func (p *Program) resumeLine() (line string, without []string) {
	if len(p.Args) == 0 {
		return "", nil
	}
	words := []string{p.Self()}
	for i := 1; i < len(p.Args); {
		flag, values := p.Args[i], p.Args[i+1:]
		if n := slices.IndexFunc(values, frame.IsFlag); n >= 0 {
			values = values[:n]
		}
		i += 1 + len(values)
		if !frame.IsFlag(flag) {
			words = append(append(words, flag), values...)
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(values), p.secret)
		hides := p.secret(flag) // --proxy=http://me:password@host
		if !hides && (len(values) == 0 || len(kept) > 0) {
			words = append(words, flag)
		}
		if words = append(words, kept...); hides || len(kept) < len(values) {
			name, _, _ := frame.SplitFlag(flag)
			without = append(without, name)
		}
	}
	slices.Sort(without)
	return frame.ShellLine(words), slices.Compact(without)
}

// secret reports whether a word is not shown as it is.
func (p *Program) secret(word string) bool { return p.Hide(word) != word }

// resumeText is the line that goes on, and what is to be said beside it: which flags are left out and where they may be, and
// which variables said something that the line does not.
func (r *run) resumeText() string {
	line, without := r.p.resumeLine()
	text := "  " + line
	if len(without) > 0 {
		names, variables := make([]string, len(without)), make([]string, len(without))
		for i, name := range without {
			names[i], variables[i] = frame.Dashed(name), r.p.commands.VariableOf(r.c, name)
		}
		text += "\nLeft out because they are secret: " + strings.Join(names, ", ") +
			". Add them again, or put them into ypcrawl.yaml or the environment (" + strings.Join(variables, ", ") + ")."
	}
	if set := r.p.commands.FromEnvironment(r.c, r.p.Args); len(set) > 0 {
		text += "\nThe environment must be the same again: " + strings.Join(set, ", ") + "."
	}
	return text
}
