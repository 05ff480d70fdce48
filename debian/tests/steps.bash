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

# start COMMAND...: in the background; sets `url` to the first address that it prints, as URL.
start() {
  output=$scratch/output.${#children[@]}
  : > "$output"
  "$@" >> "$output" 2>&1 &
  server=$!
  children+=("$server")
  # tail ends when the server does, so this never waits for what does not come.
  url=$(grep -Em1 "$address" < <(tail --pid="$server" -n +1 -f "$output" 2> /dev/null) | first_url) ||
    { cat "$output" && false; }
}
stop() { kill "$server" && wait "$server"; }

# statuses N URL: those of N requests, in one line.
statuses() {
  local n
  for ((n = 0; n < $1; n++)); do curl -s -o /dev/null -w '%{http_code} ' "$2"; done
}

# expect WANTED GOT
expect() { [[ $1 == "$2" ]] || { echo "expected \"$1\", got \"$2\"" && false; }; }
