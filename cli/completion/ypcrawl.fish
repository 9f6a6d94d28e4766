# fish completion for ypcrawl. Save it as ~/.config/fish/completions/ypcrawl.fish
function __ypcrawl_complete
    set -l ask (commandline -opc)
    set -l cur (commandline -ct | string unescape)
    set -l found (env $ask "$cur" --generate-bash-completion 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$cur"
    end
end
complete -c ypcrawl -e
complete -c ypcrawl -f -k -a '(__ypcrawl_complete)'
