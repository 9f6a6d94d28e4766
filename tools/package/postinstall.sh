#!/bin/sh
# Lets commands typed in the service's folder find its settings, unless others lie there, and has systemd
# read the units anew. It switches nothing on.
set -e
settings=/etc/ypcrawl/ypcrawl.yaml link=/var/lib/ypcrawl/ypcrawl.yaml
if [ ! -e "$link" ]; then
    ln -sf "$settings" "$link"
elif [ "$(readlink "$link")" != "$settings" ]; then
    echo "ypcrawl: $link stays as it is, for commands typed there; the service reads $settings."
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
