#!/usr/bin/env bash
# Runs the demo of this bundle, on the GPU if there is one.
set -e
# shellcheck source=scripts/bundle/env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=scripts/bundle/machine.sh
. "$bundle/machine.sh"
export DEMODIR=${DEMODIR:-$PWD/demo}
exec bash "$bundle/examples/demo.sh" "$@"
