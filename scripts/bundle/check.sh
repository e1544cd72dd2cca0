#!/usr/bin/env bash
# Runs the tests of this bundle, on the GPU if there is one; arguments are those of tests/run.sh (./check.sh 'mat-*').
set -e
# shellcheck source=scripts/bundle/env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=scripts/bundle/machine.sh
. "$bundle/machine.sh"
exec bash "$bundle/tests/run.sh" --prebuilt "$bundle/built-tests" "$@"
