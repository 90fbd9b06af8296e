#!/bin/sh
# only_c_names.sh LIBRARY: fails when a name other than rde_* can be linked to.
command -v nm >/dev/null || exit 77
names=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//')
[ -n "$names" ] || { echo "no names at all"; exit 1; }
foreign=$(echo "$names" | grep -v '^rde_')
[ -z "$foreign" ] || { echo "visible beside rde_*:"; echo "$foreign"; exit 1; }
