# bash completion for ypcrawl. Load it with: source <(ypcrawl completion bash)
_ypcrawl() {
    local word glue='' line
    local -a ask=()
    COMPREPLY=()
    # What is typed is never evaluated: quotes, backslashes and a leading ~ are taken off by hand, and
    # the pieces into which bash cuts a word at = and : are put together again.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        word=${word//\\/}
        word=${word#[\"\']}
        word=${word%[\"\']}
        word=${word/#\~\//$HOME/}
        if [[ -n $glue || ( $word == [=:]* && ${#ask[@]} -gt 1 ) ]]; then
            ask[${#ask[@]}-1]+=$word
        else
            ask+=("$word")
        fi
        glue=''
        [[ $word == [=:] ]] && glue=1
    done
    local cur=${ask[${#ask[@]}-1]} typed=${COMP_WORDS[COMP_CWORD]}
    # bash replaces the last piece alone.
    local head=${typed//\\/}
    head=${head#[\"\']}
    [[ $head == [=:] ]] && head=''
    head=${cur%"$head"}
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        [[ $line == "$cur"* || $cur != -* || $cur == *=* ]] || continue
        line=${line#"$head"}
        [[ $typed == [\"\']* || $line != *[^a-zA-Z0-9_.,/:=@+-]* ]] || printf -v line %q "$line"
        COMPREPLY+=("$line")
    done < <("${ask[@]}" --generate-bash-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _ypcrawl ypcrawl
