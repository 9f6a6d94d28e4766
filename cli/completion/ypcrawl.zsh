#compdef ypcrawl
# zsh completion for ypcrawl. Save it as _ypcrawl in a folder of $fpath, or load
# it with: source <(ypcrawl completion zsh)
_ypcrawl() {
    local line cur=${(Q)words[CURRENT]}
    local -a ask found about
    ask=("${(@Q)words[1,CURRENT-1]}")
    ask=("${(@)ask/#\~\//$HOME/}")
    for line in "${(@f)$("${(@)ask}" "$cur" --generate-bash-completion 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        found+=("${line%%$'\t'*}")
        about+=("${line/$'\t'/  -- }")
    done
    if (( $#found == 0 )); then
        _files
    elif [[ $cur == -* && $cur != *=* ]]; then
        compadd -l -d about -- "${(@)found}"
    else
        compadd -U -l -d about -- "${(@)found}" # they begin with what was typed, in other letter case maybe
    fi
}
if [[ ${funcstack[1]} == _ypcrawl ]]; then
    _ypcrawl "$@"
else
    compdef _ypcrawl ypcrawl
fi
