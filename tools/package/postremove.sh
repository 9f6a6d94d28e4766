#!/bin/sh
# Says what stays: no package removes what was crawled.
set -e
case "$1" in
purge | 0) # Debian, Red Hat
    echo "ypcrawl: databases and logs stay in /var/lib/ypcrawl, and so does the user ypcrawl, who owns them."
    echo "ypcrawl: to remove them too, type: rm -r /var/lib/ypcrawl; userdel ypcrawl"
    ;;
esac
