#!/usr/bin/env bash
# Runs the tests of this bundle, on the GPU if there is one; arguments are those of tests/run.sh (./check.sh 'mat-*').
set -e
# shellcheck source=scripts/bundle/env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=scripts/bundle/machine.sh
. "$bundle/machine.sh"
if [ ! -d "$bundle/built-tests" ]; then echo 'This bundle was made without tests (make bundle TESTS=0)' >&2; exit 2; fi
exec bash "$bundle/tests/run.sh" --prebuilt "$bundle/built-tests" "$@"
