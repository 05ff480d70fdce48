#!/bin/sh
# Fails if clang-format would change a C++ file that git knows; `./dev fmt` mends it. Ends with 75 if this
# version of clang-format is not the one that formats the files: each makes something else of a few lines.
set -eu
version=14
if ! clang-format --version | grep -q "version $version\."; then
  echo "the files are formatted by clang-format $version, and here is: $(clang-format --version)"
  exit 75
fi
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format --dry-run --Werror
