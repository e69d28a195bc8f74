# For the scripts beside this one: counts what has to be so. Uses $log, a file.

passed=0 failed=0

say() { printf '%s\n' "$*"; }

# check WHAT COMMAND...: one thing that has to be so.
check() {
    local what=$1
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        say "  ok      $what"
    else
        failed=$((failed + 1))
        say "  FAILED  $what"
        sed 's/^/          /' "$log" | tail -n 15
    fi
}
