#!/bin/bash
# Runs nginx's configure with the options of the distribution, which creates the two files that a
# dynamic module needs: ngx_auto_config.h and the list of modules.
#
#     configure_nginx.sh NGINX_SOURCE ADDON_DIR OUTPUT_DIR
set -eu
source_dir=$1 addon=$2 output=$3
rm -rf "$output"
mkdir -p "$output"
cp -R "$source_dir"/. "$output"
cd "$output"
. ./conf_flags
if ! bash ./configure "${NGX_CONF_FLAGS[@]}" --add-dynamic-module="$addon" > configure.log 2>&1; then
  cat configure.log >&2
  exit 1
fi
