#!/bin/sh
# Fails if clang-format would change a C++ file that git knows; `./dev fmt` mends it.
set -eu
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format --dry-run --Werror
