#!/bin/sh
# Has systemd read the units anew. It switches nothing on.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
