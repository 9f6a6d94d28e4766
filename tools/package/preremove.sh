#!/bin/sh
# Switches the timer off, lets a crawl finish its pages, and removes the link to the settings, before the program is removed.
set -e
case "$1" in
remove | 0) # Debian, Red Hat; every other word is an upgrade
    if [ -d /run/systemd/system ]; then
        systemctl disable --now ypcrawl.timer || true # units that an administrator removed are no reason to stop
        systemctl stop ypcrawl.service || true
    fi
    link=/var/lib/ypcrawl/ypcrawl.yaml
    if [ "$(readlink $link)" = /etc/ypcrawl/ypcrawl.yaml ]; then
        rm $link
    fi
    ;;
esac
