# What somebody does with the package, in a Debian that has nothing else. `.ci/packages` runs it there in three parts, as root.
home=/var/lib/ypcrawl

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# as_user runs a command as the service does: its user, its folder.
as_user() { (cd $home && runuser -u ypcrawl -- "$@"); }

# listings counts them; the settings name Wyoming alone.
listings() { as_user ypcrawl export --states WY TX -o - --format jsonl --quiet | wc -l; }

# service runs the command of a service, word for word.
service() { as_user sh -c "$(sed -n 's/^ExecStart=//p' "$1" | sed 's/%%/%/g')"; }

case $1 in
install)
    groupadd ypcrawl # by somebody else
    dpkg --install /ypcrawl.deb
    dpkg --verify ypcrawl
    [ "$(stat -c '%U:%G %a' $home)" = 'ypcrawl:ypcrawl 750' ] || fail "owner of $home"
    [ "$(stat -c '%U:%G %a' /etc/ypcrawl/ypcrawl.yaml)" = 'root:ypcrawl 640' ] || fail 'owner of the settings'
    [ "$(getent passwd ypcrawl | cut -d: -f6,7)" = "$home:/usr/sbin/nologin" ] || fail 'the user'
    [ "$(readlink $home/ypcrawl.yaml)" = /etc/ypcrawl/ypcrawl.yaml ] || fail 'the link to the settings'
    [ -z "$(find /etc/systemd -name 'ypcrawl*')" ] || fail 'the timer was switched on'
    grep -q '^.TH' /usr/share/man/man1/ypcrawl.1 || fail 'man page'
    bash -c '. /usr/share/bash-completion/completions/ypcrawl && complete -p ypcrawl' || fail 'completion of bash'
    for file in /usr/share/fish/vendor_completions.d/ypcrawl.fish /usr/share/zsh/site-functions/_ypcrawl /usr/share/doc/ypcrawl/copyright; do
        [ -s $file ] || fail "$file"
    done
    ypcrawl completion bash | cmp - /usr/share/bash-completion/completions/ypcrawl
    ypcrawl version
    ;;
use)
    # The service, as it is installed.
    service /usr/lib/systemd/system/ypcrawl.service
    as_user ypcrawl progress
    as_user ypcrawl status
    all=$(listings)
    [ "$all" -gt 100 ] || fail "$all listings"

    # Getting started, export, backup and restore.
    as_user ypcrawl run --source demo --states TX --max-cities 2 --quiet
    more=$(listings)
    [ "$more" -gt "$all" ] || fail "$more listings after Texas, $all before"
    as_user ypcrawl export --states WY TX -o all.csv
    [ "$(wc -l <$home/all.csv)" = $((more + 1)) ] || fail "all.csv: $(wc -l <$home/all.csv) lines, $more listings"
    as_user ypcrawl backup copy.db
    rm -r $home/ypcrawl.db*
    as_user ypcrawl restore copy.db
    [ "$(listings)" = "$more" ] || fail "$(listings) listings restored, $more before"
    as_user ypcrawl doctor
    ;;
remove)
    echo '# mine' >>/etc/ypcrawl/ypcrawl.yaml
    all=$(listings)
    dpkg --install /ypcrawl.deb # an upgrade
    grep -q '^# mine' /etc/ypcrawl/ypcrawl.yaml || fail 'an upgrade changed the settings'
    dpkg --remove ypcrawl
    [ ! -e /usr/bin/ypcrawl ] || fail 'the program is still there'
    [ ! -L $home/ypcrawl.yaml ] || fail 'the link to the settings is still there'
    [ -s $home/ypcrawl.db ] && [ -s /etc/ypcrawl/ypcrawl.yaml ] || fail 'data or settings were removed'
    dpkg --purge ypcrawl >/purged
    cat /purged
    grep -q 'stay in /var/lib/ypcrawl' /purged || fail 'purge does not say what stays'
    [ ! -e /etc/ypcrawl ] || fail 'the settings stay after purge'
    echo 'states: [TX]' >$home/ypcrawl.yaml
    dpkg --install /ypcrawl.deb # again: the user and the data are found
    [ "$(listings)" = "$all" ] || fail "$(listings) listings, $all before"
    dpkg --remove ypcrawl
    [ "$(cat $home/ypcrawl.yaml)" = 'states: [TX]' ] || fail "settings of one's own are lost"
    ;;
esac
