#!/usr/bin/env bash
# Runs a command as on a machine that has nothing: a minimal Debian with Python, make and git, in a folder of its own,
# on a clone of what is committed here. No compiler, LLVM, Node, browser or cache, so that what somebody installed by
# hand hides no missing step.
#
#   tests/fresh_machine.sh                    make demo && make test
#   tests/fresh_machine.sh 'make demo'
#   KEEP=1 tests/fresh_machine.sh 'make demo' leaves the folder there and prints its place
#
# What the command writes to build/fresh-machine is copied to the same place here.
#
# Needs Debian or Ubuntu and root; mmdebstrap is installed where it is missing. The minimal system is made once, in a
# minute, and stored beside the temporary folders of this machine (FRESH_MACHINE_BASE names another file).
set -euo pipefail
command=${*:-make demo && make test}
top=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
base=${FRESH_MACHINE_BASE:-/var/tmp/fresh-machine-base.tar}

make_base() {
  command -v mmdebstrap >/dev/null ||
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y mmdebstrap >/dev/null; }
  local part release sources
  part=$(mktemp "$base.XXXXXX")
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # The mirrors of this machine; mmdebstrap reads them from its standard input.
  sources=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
  mmdebstrap --quiet --variant=minbase --format=tar --include=python3,python3-venv,make,git,ca-certificates \
    "$release" "$part" - <<<"$sources"
  mv "$part" "$base"
}

# What a network of its own needs, such as mirrors, certificates and packages in a folder, is part of a machine.
copy_network() {
  local root=$1 path
  for path in /etc/apt /etc/ssl/certs /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/xdg/pip "$HOME/.config/pip" \
    ${PIP_FIND_LINKS:-}; do
    [ -e "$path" ] || continue
    local target=$root${path/#$HOME//root}
    mkdir -p "$(dirname "$target")"
    if [ -d "$path" ]; then mkdir -p "$target" && cp -a "$path/." "$target/"; else cp -L "$path" "$target"; fi
  done
}

[ "$(id -u)" = 0 ] || { echo "a fresh machine needs root, for chroot" >&2; exit 2; }
[ -s "$base" ] || make_base
root=$(mktemp -d /var/tmp/fresh-machine.XXXXXX)
if [ -n "${KEEP:-}" ]; then echo "fresh machine: $root"; else trap 'rm -rf --one-file-system "$root"' EXIT; fi
tar -C "$root" --exclude='./dev/*' -xf "$base"
copy_network "$root"
git clone --quiet "$top" "$root/root/project"

variables=(HOME=/root LANG=C.UTF-8 TERM=dumb CI=true PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
while IFS= read -r variable; do variables+=("$variable"); done < <(
  env | grep -E '^(PIP_|NODE_EXTRA|SSL_CERT|REQUESTS_CA|CURL_CA|npm_config_|HIPKITTENS_TEST_|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)' || true)

rm -rf "$top/build/fresh-machine"
start=$SECONDS
status=0
# The mounts are of a namespace of their own, and end with it.
unshare --mount --propagation private bash -c '
  root=$1 command=$2
  shift 2
  mount --bind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
  exec chroot "$root" env -i "$@" bash -c "cd /root/project && $command"
' fresh-machine "$root" "$command" "${variables[@]}" </dev/null || status=$?
if [ -d "$root/root/project/build/fresh-machine" ]; then
  mkdir -p "$top/build"
  cp -r "$root/root/project/build/fresh-machine" "$top/build/"
fi
echo "fresh machine: '$command' ended with $status after $((SECONDS - start)) s"
exit "$status"
