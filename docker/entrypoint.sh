#!/bin/sh
# The container's first process. It prepares, as root, what the others may not do by themselves, gives up what nobody
# needs afterwards, and becomes tini, which starts supervise.mjs.
#
# Who is who: host and daemon are `sand` (1001), and the data root is theirs alone. Commands are `box` (1000), and
# /workspace is theirs. What is secret in this container lies in /run/sand, which only root and `sand` can enter.
set -eu

data=/home/box/sand-data
private=/run/sand

owner() { stat -c %u "$1"; }

# The data root is ours alone, so whatever is in a volume that comes from elsewhere is taken over, once.
mkdir -p "$data"
[ "$(owner "$data")" = 1001 ] || chown -R 1001:1001 "$data"
setpriv --reuid=1001 --regid=1001 --clear-groups chmod 0700 "$data"

# A workspace may be somebody's own folder: only a new, empty volume gets another owner.
mkdir -p /workspace
if [ "$(owner /workspace)" = 0 ] && [ -z "$(ls -A /workspace)" ]; then chown 1000:1000 /workspace; fi
[ "$(owner /workspace)" = 1000 ] || echo "sand: /workspace belongs to uid $(owner /workspace); commands are uid 1000" >&2

mkdir -p "$private"
chown 0:1001 "$private"
chmod 0750 "$private"

# A mounted credential belongs to an account of another machine, so `sand` gets a copy now, while every file can be
# read. supervise.mjs copies a renewed one where the mount lets it.
mounted=${SAND_DEV_INFERENCE_TOKEN_FILE:-}
if [ -n "$mounted" ] && [ -f "$mounted" ]; then
  install -m 0600 -o 1001 -g 1001 "$mounted" "$private/inference.json"
fi

# So do programs that a connector mounted: `sand` gets copies of those that it couldn't read.
programs=/run/sand-programs
rm -rf "$programs"
for name in sand-host box-exec-daemon; do
  if setpriv --reuid=1001 --regid=1001 --clear-groups cat "/home/box/$name"/*.cjs >/dev/null 2>&1; then continue; fi
  mkdir -p "$programs"
  cp -R "/home/box/$name" "$programs/$name"
  chown -R 0:0 "$programs/$name"
  chmod -R u=rwX,go=rX "$programs/$name"
done

# DAC_READ_SEARCH is left only where the container was given it, for credentials that are renewed in a mount.
exec setpriv --no-new-privs --bounding-set=-all,+setuid,+setgid,+chown,+kill,+dac_read_search \
  tini -- node /home/box/sand-image/supervise.mjs
