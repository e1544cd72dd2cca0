#!/usr/bin/env bash
#
# Every manual page in the sources can be rendered, and no page has a broken link.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
[ -e "$SRCDIR/../scripts/site.py" ] || { skip site 'no sources'; exit; }
run site python3 "$SRCDIR/../scripts/site.py" --check && ok site
