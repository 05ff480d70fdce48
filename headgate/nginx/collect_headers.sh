#!/bin/bash
# Collects the headers of one nginx in a folder, ngx_auto_config.h among them, which says how it was configured.
#
#     collect_headers.sh NGINX OUTPUT [OPTION...]
#
# NGINX is a folder with
# - sources, or what Debian's package nginx-dev installs. They are configured in a copy: with the OPTIONs, or
#   those of the file conf_flags, or --with-compat;
# - sources that are configured, or headers that an nginx has installed. They are used as they are; with
#   OPTIONs, sources are configured anew in a copy.
set -euo pipefail
nginx=$(realpath "$1") output=$(realpath -m "$2")
shift 2
rm -rf "$output"
mkdir -p "$output"
die() {
  echo "$nginx: $*" >&2
  exit 1
}

mapfile -t configured < <(find "$nginx" -name ngx_auto_config.h)
if (($#)) || ((${#configured[@]} == 0)); then
  [[ -x $nginx/configure ]] || die 'neither sources of nginx, with configure, nor headers, with ngx_auto_config.h'
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  cp -R "$nginx"/{auto,configure,src} "$copy"
  cp "$nginx/conf_flags" "$copy" 2> /dev/null || true
  cd "$copy"
  NGX_CONF_FLAGS=(--with-compat)
  # shellcheck source=/dev/null
  [[ ! -e conf_flags ]] || . ./conf_flags
  (($#)) || set -- "${NGX_CONF_FLAGS[@]}"
  ./configure "$@" > configure.log 2>&1 || { cat configure.log >&2 && die 'configure has failed'; }
  nginx=$copy
elif ((${#configured[@]} > 1)); then
  die "it is configured in several ways: ${configured[*]%/*}"
fi
# No two have the same name, but those of Windows, and what dpkg-source keeps in .pc.
find "$nginx" -mindepth 1 \( -name '.*' -o -path '*/os/win32' \) -prune -o -name '*.h' -exec cp -t "$output" {} +
