# bash completion for ypcrawl. Load it with: source <(ypcrawl completion bash)
_ypcrawl() {
    local IFS=$'\n' word
    local cur=${COMP_WORDS[COMP_CWORD]}
    local -a ask=("${COMP_WORDS[@]:0:COMP_CWORD}")
    COMPREPLY=()
    for word in "${ask[@]}"; do
        [[ $word == -- ]] && return
    done
    # What is typed is never evaluated; only a leading ~ is expanded by hand.
    ask[0]=${ask[0]/#\~\//$HOME/}
    [[ $cur == -* ]] && ask+=("$cur")
    COMPREPLY=($(compgen -W "$("${ask[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _ypcrawl ypcrawl
