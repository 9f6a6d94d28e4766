#!/bin/sh
# Makes the user that crawls. Files of the package belong to it, so it comes first.
set -e
home=/var/lib/ypcrawl shell=/usr/sbin/nologin
id -u ypcrawl >/dev/null 2>&1 && exit 0
if command -v useradd >/dev/null; then
    groupadd --system --force ypcrawl # a group of that name may be there
    useradd --system --gid ypcrawl --no-create-home --home-dir "$home" --shell "$shell" ypcrawl
else # Alpine
    addgroup -S ypcrawl
    adduser -S -D -H -h "$home" -s /sbin/nologin -G ypcrawl ypcrawl
fi
