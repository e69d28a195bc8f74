#!/usr/bin/env bash
# Makes what the page is built with: a root with Debian's emscripten, and in it the libraries, compiled to WebAssembly. It needs root or
# sudo, debootstrap, and a Debian mirror (ATTN_MIRROR, else deb.debian.org): five minutes, 2 GB. Run again, it only looks.
#
#     third_party/browser/make_root.sh ROOT
#     ROOT/in COMMAND...      runs a command in it as the user who calls, with this checkout under the name that it has here
#
# Debian 12's own emscripten is too old for C++20. The compiler is that of the next release, which still moves: the numbers of the page
# were compared with the native ones for the version below. The libraries are Debian 12's, as in the native program.
set -euo pipefail
release=forky
compared_version=6.0.5
libraries=(zlib libpng1.6 libzip libonig utf8proc fmtlib imgui)
as_they_are=(libeigen3-dev nlohmann-json3-dev libcli11-dev fonts-inter fonts-jetbrains-mono fonts-dejavu-core
    fonts-noto-core fonts-droid-fallback)

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "${1:?the folder of the root is missing}"
root=$(cd "$1" && pwd)
mirror=${ATTN_MIRROR:-http://deb.debian.org/debian}
as_root=()
((EUID == 0)) || as_root=(sudo)

say() { printf '%s\n' "$*"; }
fail() { printf 'make_root: %s\n' "$*" >&2; exit 1; }
# step NAME COMMAND...: what is done once, and what it prints.
step() {
    local name=$1
    shift
    [[ ! -e "$root/home/page/$name.done" ]] || return 0
    say "$name"
    "$@" >"$root.log" 2>&1 || fail "$name failed: see $root.log"
    touch "$root/home/page/$name.done"
}

system() {
    command -v debootstrap >/dev/null || fail "debootstrap is missing"
    "${as_root[@]}" rm -rf --one-file-system "$root"
    "${as_root[@]}" debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" /usr/share/debootstrap/scripts/sid
    "${as_root[@]}" install -d -o "$(id -u)" -g "$(id -g)" "$root/home/page"
}

# Who calls owns what is built; packages are installed by root.
write_in() {
    "${as_root[@]}" mkdir -p "$root$checkout"
    "${as_root[@]}" tee "$root/in" >/dev/null <<IN
#!/bin/sh
# Runs a command in this root. AS_ROOT=1: as root.
user=\$(id -u):\$(id -g) rights=
[ "\$(id -u)" = 0 ] || rights=sudo
[ -z "\${AS_ROOT:-}" ] || user=0:0
exec \$rights unshare --mount sh -c 'root=\$1 checkout=\$2 user=\$3 && shift 3 &&
    mount -t proc proc "\$root/proc" && mount --rbind /dev "\$root/dev" && mount --bind "\$checkout" "\$root\$checkout" &&
    exec chroot --userspec="\$user" "\$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/page LANG=C.UTF-8 \\
        EM_CACHE=/home/page/cache DEBIAN_FRONTEND=noninteractive PKG_CONFIG_LIBDIR=/home/page/lib/pkgconfig \\
        env -C "\$checkout" "\$@"' sh '$root' '$checkout' "\$user" "\$@"
IN
    "${as_root[@]}" chmod +x "$root/in"
}

compiler() {
    "${as_root[@]}" cp /etc/resolv.conf "$root/etc/resolv.conf"
    printf 'deb %s bookworm main\ndeb-src %s bookworm main\n' "$mirror" "$mirror" |
        "${as_root[@]}" tee "$root/etc/apt/sources.list.d/libraries.list" >/dev/null
    AS_ROOT=1 "$root/in" apt-get update
    AS_ROOT=1 "$root/in" apt-get install -y --no-install-recommends -t "$release" emscripten cmake ninja-build pkg-config dpkg-dev brotli \
        fontconfig
}

sources() {
    AS_ROOT=1 "$root/in" sh -euc 'cd /home/page && mkdir -p sources && cd sources
        apt-get source --download-only $1
        for one in *.dsc; do dpkg-source --no-check -x "$one"; done
        for one in $2; do apt-get download "$one/bookworm"; done
        for one in *.deb; do dpkg-deb -x "$one" ../debian; done' sh "${libraries[*]/%//bookworm}" "${as_they_are[*]}"
}

if [[ ! -e "$root/home/page/system.done" ]]; then
    say "system ($release)"
    system >"$root.log" 2>&1 || fail "the system could not be set up: see $root.log"
    touch "$root/home/page/system.done"
fi
write_in
step compiler compiler
step sources sources
step libraries "$root/in" third_party/browser/build_libraries.sh
version=$("$root/in" emcc -dumpversion)
[[ "$version" == "$compared_version" ]] ||
    say "This is emscripten $version; the page's numbers were compared for $compared_version (tests/package/try_browser.sh compares them)."
