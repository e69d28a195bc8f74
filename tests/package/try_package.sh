#!/usr/bin/env bash
# Tries the package on systems that have nothing but what it asks for: makes clean roots of Debian releases, builds the package there (or
# here, where this is that release), installs it, uses it, removes it, and looks whether anything is left.
#
#     tests/package/try_package.sh [--build-here] [RELEASE...]     bookworm and trixie, unless named
#
# Needs root, debootstrap, xvfb, xauth, xdotool and a Debian mirror (ATTN_MIRROR, else deb.debian.org). Roots are kept in
# build/package-roots, so that a second run is faster; remove that folder to begin anew. The last line says "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/package/checks.sh

mirror=${ATTN_MIRROR:-http://deb.debian.org/debian}
roots=$PWD/build/package-roots
fail() { printf 'try_package: %s\n' "$*" >&2; exit 1; }

# inside ROOT COMMAND...: with a /proc of its own, and without what the environment here says.
inside() {
    local root=$1
    shift
    mkdir -p "$root/proc"
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# as_user ROOT COMMAND...: somebody without rights, in a folder that has nothing to do with the program.
as_user() {
    local root=$1
    shift
    inside "$root" setpriv --reuid=65534 --regid=65534 --clear-groups \
        /usr/bin/env -C /home/somebody HOME=/home/somebody DISPLAY="${DISPLAY:-}" XAUTHORITY=/home/somebody/xauthority \
        XDG_RUNTIME_DIR=/home/somebody/run LIBGL_ALWAYS_SOFTWARE=1 "$@"
}

not() { ! "$@"; }

clean_root() {
    local release=$1
    [[ ! -e "$roots/$release.clean/usr/bin/apt-get" ]] || return 0
    say "Making a clean $release"
    rm -rf "$roots/$release.clean"
    debootstrap --variant=minbase "$release" "$roots/$release.clean" "$mirror" >"$roots/$release.log" 2>&1 ||
        fail "debootstrap failed; see $roots/$release.log"
}

# Sets `package`. The packages here and there differ: each is linked with the libraries of its release.
build_package() {
    local release=$1 root=$roots/$1.build
    if ((build_here)) || [[ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" == "$release" ]]; then
        say "Building the package here"
        ./dev package >"$roots/$release.log" 2>&1 || fail "building failed; see $roots/$release.log"
        package=$(ls build/package/*.deb)
        return
    fi
    say "Building the package in $release"
    [[ -e "$root/usr/bin/apt-get" ]] || cp -a "$roots/$release.clean" "$root"
    mkdir -p "$root/src"
    # Whatever the release may be, the sources are those of this folder, and files that did not change keep their time.
    git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -cf - | tar -C "$root/src" -xf -
    inside "$root" apt-get update -qq >"$roots/$release.log" 2>&1 || fail "apt-get update failed; see $roots/$release.log"
    inside "$root" env -C /src SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" ./dev package >>"$roots/$release.log" 2>&1 ||
        fail "building failed; see $roots/$release.log"
    package=$(ls "$root"/src/build/package/*.deb)
}

# What a system has of the program, by name and by what desktop, man and shells have noted down. apt and dpkg may remember it.
traces_of_program() {
    (
        cd "$1"
        find . -xdev -iname '*attnscope*' -not -path './proc/*' -not -path './home/*' -not -path './tmp/*'
        grep -rlI attnscope etc usr/share var/lib var/cache --exclude-dir=apt --exclude-dir=lists --exclude-dir=dpkg \
            --exclude-dir=debconf 2>/dev/null
        grep -rl attnscope var/lib/dpkg --include=status --include='*.list' --include='triggers*' 2>/dev/null
        ls usr/share/zsh usr/share/fish usr/share/metainfo 2>/dev/null | grep -i attnscope
    ) || true
}
nothing_left() {
    local left
    left=$(traces_of_program "$1")
    printf '%s\n' "$left"
    [[ -z "$left" ]]
}

picture_is_drawn() {
    as_user "$root" attnscope render --preset stories --out picture.png || return
    (($(stat -c %s "$root/home/somebody/picture.png") > 50000))
}

# The window is seen from outside of the root, by its class. SIGTERM ends it with the exit code that shells expect.
window_opens() {
    local window status=0 ended=0
    as_user "$root" attnscope --text "the cat sat" >"$roots/window.log" 2>&1 &
    local program=$!
    window=$(timeout 60 xdotool search --sync --onlyvisible --class '^attnscope$' | head -n 1) || true
    xdotool getwindowname "${window:-0}" getwindowgeometry "${window:-0}" || status=1
    sleep 3
    xdotool search --onlyvisible --class '^attnscope$' >/dev/null || { say "the window did not stay"; status=1; }
    # Below the shell is unshare, and below that the program.
    kill -TERM $(pgrep -P "$(pgrep -P "$program")") || status=1
    wait "$program" || ended=$?
    ((ended == 143)) || { say "the program ended with $ended"; status=1; }
    cat "$roots/window.log"
    [[ ! -s "$roots/window.log" ]] || status=1
    return $status
}

completes() { [[ "$(inside "$root" bash -c "$1")" == "$2" ]]; }

bash_completes() {
    # As bash-completion does it when Tab is pressed for the first time.
    completes '. /usr/share/bash-completion/bash_completion; _completion_loader attnscope || test $? = 124
        COMP_WORDS=(attnscope render --view hea); COMP_CWORD=3; _attnscope; echo "${COMPREPLY[*]}"' heads
}
fish_completes() { completes 'fish -c "complete -C \"attnscope render --view hea\"" | cut -f1' heads; }
zsh_knows() { completes 'zsh -c "autoload -Uz compinit; compinit -D; echo \$_comps[attnscope]"' _attnscope; }
mime_type_is_known() {
    inside "$root" sh -c 'echo "{}" >/home/somebody/a.attnscope.json; XDG_UTILS_DEBUG_LEVEL=1 mimetype --brief /home/somebody/a.attnscope.json' |
        grep -qx 'application/x-attnscope+json'
}
opened_by_desktop() { grep -q '^application/x-attnscope+json=attnscope.desktop;' "$root/usr/share/applications/mimeinfo.cache"; }
man_page_shows() { inside "$root" sh -c 'MANWIDTH=90 man attnscope' | grep -q -e '--shader-dir FOLDER'; }
whatis_knows() { inside "$root" whatis attnscope | grep -q 'every number'; }
# The program has no domain by which it could be named, nor a place in the net. Each release knows other complaints.
description_is_valid() {
    local file=/usr/share/metainfo/attnscope.metainfo.xml rdns=cid-desktopapp-is-not-rdns=info
    inside "$root" appstreamcli validate --no-net --override=$rdns,url-homepage-missing=info $file ||
        inside "$root" appstreamcli validate --no-net --override=$rdns $file
}
finds_library() { inside "$root" sh -c "ldconfig -p | grep -q '[[:space:]]$1 '"; }
no_missing_library() { not inside "$root" sh -c 'ldd /usr/bin/attnscope | grep "not found"'; }
version_is_that_of_package() {
    [[ "$(as_user "$root" attnscope --version)" == "attnscope $(dpkg-deb -f "$package" Version | sed 's/-.*//')" ]]
}
# The inner loops exist for several processors; the smallest choice has to run as well.
kernels_run() { as_user "$root" env ATTNSCOPE_KERNELS="$1" attnscope trace --out trace.safetensors; }
old_processor_runs() {
    as_user "$root" qemu-x86_64 -cpu Nehalem-v1 /usr/bin/attnscope sample --preset stories --prompt "Lily and Tom are in the park ." --tokens 5
}

try() {
    local release=$1 package root=$roots/$1.try log=$roots/$1.check
    clean_root "$release"
    build_package "$release"
    say "$release: $(basename "$package")"
    rm -rf "$root"
    cp -a "$roots/$release.clean" "$root"
    # minbase leaves manual pages out; a desktop has them.
    rm -f "$root"/etc/dpkg/dpkg.cfg.d/*
    mkdir -p -m 700 "$root/home/somebody/run"
    cp "$package" "$root/home/attnscope.deb"
    cp "${XAUTHORITY:?}" "$root/home/somebody/xauthority"
    chown -R 65534:65534 "$root/home/somebody"

    inside "$root" apt-get update -qq >"$log" 2>&1 || fail "apt-get update failed; see $log"
    check "installs with nothing but what it depends on" inside "$root" apt-get install -y --no-install-recommends /home/attnscope.deb
    check "all libraries are there" no_missing_library
    local library
    for library in libGL.so.1 libX11.so.6 libXcursor.so.1 libXi.so.6 libXinerama.so.1 libXrandr.so.2; do
        check "$library, which is loaded at run time" finds_library "$library"
    done
    check "says its version" version_is_that_of_package
    check "draws a picture" picture_is_drawn
    check "opens its window" window_opens
    check "runs with the smallest kernels" kernels_run baseline

    inside "$root" apt-get install -y --no-install-recommends man-db bash-completion zsh fish shared-mime-info desktop-file-utils \
        libfile-mimeinfo-perl qemu-user lintian appstream >"$log" 2>&1 || fail "the tools for looking could not be installed; see $log"
    check "manual page" man_page_shows
    check "the manual page is found by its subject" whatis_knows
    check "bash completes" bash_completes
    check "zsh completes" zsh_knows
    check "fish completes" fish_completes
    check "the type of documents is known" mime_type_is_known
    check "documents are opened by it" opened_by_desktop
    check "the desktop entry is valid" inside "$root" desktop-file-validate /usr/share/applications/attnscope.desktop
    check "the description for software centres is valid" description_is_valid
    check "runs on a processor without AVX" old_processor_runs
    check "lintian finds no error" inside "$root" lintian --fail-on error --allow-root /home/attnscope.deb

    check "is removed" inside "$root" apt-get purge -y attnscope
    check "nothing of it is left" nothing_left "$root"
    check "the negative control: a planted file is seen" not nothing_left_with_planted "$root"
}
nothing_left_with_planted() {
    touch "$1/usr/share/mime/packages/attnscope.xml"
    nothing_left "$1"
}

build_here=0
releases=()
for argument in "$@"; do
    case $argument in
        --build-here) build_here=1 ;;
        -*) fail "there is no option $argument" ;;
        *) releases+=("$argument") ;;
    esac
done
((${#releases[@]})) || releases=(bookworm trixie)
((EUID == 0)) || fail "only root can make roots of other systems"
for tool in debootstrap unshare xvfb-run xauth xdotool; do
    command -v "$tool" >/dev/null || fail "$tool is missing"
done
if [[ -z "${XAUTHORITY:-}" || -z "${DISPLAY:-}" ]]; then
    exec xvfb-run -a -s "-screen 0 1920x1200x24 -noreset" "$0" "$@"
fi
mkdir -p "$roots"
for release in "${releases[@]}"; do try "$release"; done
say "$passed passed, $failed failed"
((failed == 0))
