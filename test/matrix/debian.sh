#!/bin/sh
# Builds the gem and runs tests on another Debian, in a chroot: its Ruby, its libzmq. The chroot (~/.cache/godwit/debian-SUITE)
# remains for the next run; all mounts and processes end with this script.
set -eu
say() { echo "matrix: $*"; }
fail() { echo "matrix: $*" >&2; exit 1; }
[ "${1:-}" != --help ] || {
  echo "usage: test/matrix/debian.sh trixie|sid stage…"
  echo "sid has Ruby 3.4, from experimental. JRUBY=10.1.2.0 has the stages of JRuby use that version of the gem jruby-jars."
  exit 0
}
[ $# -gt 1 ] || fail "usage: test/matrix/debian.sh trixie|sid stage…"
suite=$1
shift
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root"
for tool in debootstrap unshare git; do
  command -v $tool >/dev/null || fail "$tool is missing: apt-get install debootstrap util-linux git"
done

root=${XDG_CACHE_HOME:-$HOME/.cache}/godwit/debian-$suite
mkdir -p "$(dirname "$root")"
if command -v flock >/dev/null && [ -z "${GODWIT_MATRIX_LOCKED:-}" ]; then
  GODWIT_MATRIX_LOCKED=1 exec flock "$root.lock" "$0" "$suite" "$@"
fi

# Prints the address of the Debian mirror that this machine's apt uses.
mirror() {
  # shellcheck disable=SC2016 # apt's own fields
  apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1
}
if [ ! -f "$root/.made" ]; then
  uri=$(mirror)
  [ -n "$uri" ] || fail "apt knows no Debian mirror"
  say "making $suite"
  rm -rf "$root"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$uri" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log" >&2
    fail "debootstrap failed; the whole of what it said is in $root.log"
  }
  # apt must also accept a mirror that is a snapshot, some weeks old.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90snapshot"
  [ "$suite" != sid ] || echo "deb $uri experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
  touch "$root/.made"
fi
# The chroot resolves names, and trusts servers, as this machine does.
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

# Copies the checkout. Gems and compiled files remain from the last run.
checkout=$root/godwit
mkdir -p "$checkout"
find "$checkout" -mindepth 1 -maxdepth 1 ! -name vendor ! -name tmp ! -name .bundle -exec rm -rf {} +
rm -rf "$checkout/tmp/mruby" # builds mruby again: its files may be newer than the sources of this checkout
git ls-files -z | tar --null --files-from=- --ignore-failed-read -cf - | tar -C "$checkout" -xf -

say "in $suite: bin/setup, the gem, $*"
# shellcheck disable=SC2016 # for the shell inside
exec unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
  sh -euc 'mount --rbind "$0" "$0"; mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"; mount --bind "$0/dev/pts/ptmx" "$0/dev/ptmx"; exec chroot "$0" "$@"' "$root" \
  /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 BUNDLE_VERSION=system \
    DEBIAN_FRONTEND=noninteractive JRUBY="${JRUBY:-}" \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" GODWIT_TEST_GC="${GODWIT_TEST_GC:-normal}" \
  sh -euc 'cd /godwit
    if [ -e /etc/apt/sources.list.d/experimental.list ] && [ ! -e /usr/local/bin/ruby ]; then
      { apt-get update; apt-get install -y --no-install-recommends -t experimental ruby3.4 ruby3.4-dev; } >/var/log/ruby.log
      for name in ruby gem bundle; do ln -s "/usr/bin/${name}3.4" "/usr/local/bin/$name"; done
    fi
    bin/setup
    export BUNDLE_SILENCE_ROOT_WARNING=1
    if [ -n "$JRUBY" ]; then
      export GODWIT_JRUBY_JARS="/opt/jruby/gems/jruby-jars-$JRUBY/lib"
      [ -d "$GODWIT_JRUBY_JARS" ] || gem install --no-document --install-dir /opt/jruby jruby-jars -v "$JRUBY"
    else
      bundle exec rake package:check
    fi
    exec bin/test "$@"' sh "$@"
