# Runs the steps of .ci/run and of scripts/check-all. A script sources this file, calls `step` for each
# step, and `finish_steps` at the end.
# shellcheck shell=bash

passed=0
failed=0
result=
running=
watch=
# No test has a longer limit than this, so that a hanging test is named before its step is ended.
minutes=${CAMPANILE_STEP_MINUTES:-25}
logs=$(mktemp -d)
trap 'end_step; rm -rf "$logs"' EXIT
trap exit INT TERM

# Ends the step that is running, if any, and what watches its time.
end_step() {
  [[ -z $watch ]] || kill -KILL -- "-$watch" 2>/dev/null || true
  [[ -z $running ]] || kill_tree KILL "$running"
}

# Sends a signal to a process, its group and all its descendants, because `swift test` gives the
# tests a group of their own.
kill_tree() {  # SIGNAL PID
  ps -A -o pid=,ppid=,pgid= | awk -v root="$2" '
    { parent[$1] = $2; group[$1] = $3 }
    END {
      for (pid in parent) {
        ancestor = pid
        while (ancestor in parent && ancestor != root) ancestor = parent[ancestor]
        if (ancestor == root || group[pid] == root) print pid
      }
    }' | xargs -r kill -"$1" 2>/dev/null || true
}

# Runs a step, prints its result and its seconds, and goes on. If the step fails, this prints the lines
# that look like a reason, the tests that had begun and not ended, and the end of the output. A step
# that takes too long is ended with all its processes, and has failed. Its processes get a SIGTERM and
# a second first, so that the output they still hold names the test that hangs.
step() {  # NAME COMMAND...
  local name=$1 log=$logs/step start=$SECONDS
  shift
  # With job control each of the two has a process group of its own, which can be ended as one.
  set -m
  (set +em; set -o pipefail; "$@") >"$log" 2>&1 </dev/null &
  running=$!
  (sleep $((minutes * 60)); echo "error: more than $minutes minutes"
    kill_tree TERM "$running"; sleep 1; kill_tree KILL "$running") \
    >>"$log" 2>/dev/null </dev/null &
  watch=$!
  disown "$watch"
  set +m
  # In a condition `set -e` has no effect: the functions below say themselves when they fail.
  if wait "$running"; then
    passed=$((passed + 1))
    echo "passed: $name ($((SECONDS - start)) s)"
    tail -n 3 "$log" | sed 's/^/    /'
    result=passed
  else
    result=FAILED
    failed=$((failed + 1))
    echo "FAILED: $name ($((SECONDS - start)) s)"
    { grep -nE '✘|error:|ERROR|FAILED|SUMMARY' "$log" || true; } | head -n 100 | sed 's/^/    /'
    { unfinished_tests "$log" || true; } | head -n 40 | sed 's/^/    /'
    echo "    ..."
    tail -n 60 "$log" | sed 's/^/    /'
  fi
  running=
  end_step
  watch=
}

# The tests that a crash or a hang has kept from ending.
unfinished_tests() {  # LOG
  awk '
    match($0, /Test .* started\.$/) { begun[substr($0, RSTART, RLENGTH - 9)] = 1 }
    match($0, /Test .* (passed|failed) after /) {
      name = substr($0, RSTART, RLENGTH)
      sub(/( with [0-9]+ test cases?)? (passed|failed) after $/, "", name)
      delete begun[name]
    }
    END { for (name in begun) if (name !~ /^Test (run|case)/) print "not ended: " name }
  ' "$1"
}

# Runs tests, and fails if there are none.
tests() {  # OPTION FOR swift test...
  swift test "$@" | tee "$logs/tests" || return 1
  grep -q 'Test run with [1-9]' "$logs/tests" || { echo "error: no test has run"; return 1; }
}

# Runs tests of some targets, and builds no others.
tests_of() {  # TARGETS OPTION FOR swift test...
  CAMPANILE_TEST_TARGETS=$1 tests "${@:2}"
}

# Prints the sum of the seconds and the line that says how many steps have passed; fails if one has failed.
finish_steps() {
  echo "$SECONDS s in all"
  echo "$passed passed, $failed failed"
  [[ $failed -eq 0 ]]
}
