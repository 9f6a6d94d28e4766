#compdef ypcrawl
# zsh completion for ypcrawl. Save it as _ypcrawl in a folder of $fpath, or load
# it with: source <(ypcrawl completion zsh)
_ypcrawl() {
    local cur=${words[CURRENT]}
    local -a ask found
    ask=("${(@)words[1,CURRENT-1]}")
    (( ${ask[(Ie)--]} )) && return 1
    ask[1]=${ask[1]/#\~\//$HOME/}
    [[ $cur == -* ]] && ask+=("$cur")
    found=("${(@f)$("${(@)ask}" --generate-bash-completion 2>/dev/null)}")
    if [[ -n ${found[1]} ]]; then
        compadd -- "${(@)found}"
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _ypcrawl ]]; then
    _ypcrawl "$@"
else
    compdef _ypcrawl ypcrawl
fi
