# What the tests of this folder share. They run the installed packages.
# shellcheck shell=bash disable=SC2034  # the tests use the variables
set -euo pipefail
trap 'echo "$0: failed in line $LINENO" >&2' ERR
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
example=/usr/share/doc/headgate/examples/quickstart
scratch=$(mktemp -d)
children=()
output=''
# shellcheck disable=SC2317  # called by the trap
leave() {
  ((${#children[@]} == 0)) || kill "${children[@]}" 2> /dev/null || true
  rm -rf "$scratch"
}
trap leave EXIT

say() { printf -- '-- %s\n' "$*"; }

address='127\.0\.0\.1:[0-9]+'
# The first address in a line, as URL.
first_url() { sed -En "s/($address).*/\n\1/; s/.*\n/http:\/\//p"; }

# start_until REGEX COMMAND...: in the background, until it prints a line that matches; sets `line` to it.
start_until() {
  local wanted=$1
  shift
  output=$scratch/output.${#children[@]}
  : > "$output"
  "$@" >> "$output" 2>&1 &
  server=$!
  children+=("$server")
  # tail ends when the server does, or after a minute, so this never waits for what does not come.
  line=$(grep -Em1 "$wanted" < <(timeout 60 tail --pid="$server" -n +1 -f "$output" 2> /dev/null)) ||
    { cat "$output" && false; }
}
# start COMMAND...: until it prints an address; sets `url` to the first, as URL.
start() {
  start_until "$address" "$@"
  url=$(first_url <<< "$line")
}
stop() { kill "$server" && wait "$server"; }

# statuses N URL: those of N requests, in one line.
statuses() {
  local n
  for ((n = 0; n < $1; n++)); do curl -s -o /dev/null -w '%{http_code} ' "$2"; done
}

# throttled N SOCKET: the first figures of N replies of the Redis module there, in one line: 1 is a denial.
throttled() {
  local n
  for ((n = 0; n < $1; n++)); do redis-cli -s "$2" CL.THROTTLE alice 2 1 3600 | head -n 1 | tr '\n' ' '; done
}

# expect WANTED GOT
expect() { [[ $1 == "$2" ]] || { echo "expected \"$1\", got \"$2\"" && false; }; }
