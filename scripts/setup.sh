#!/bin/sh
[ -e "$PETSC_DIR/$PETSC_ARCH/lib/petsc/conf/petscvariables" ]
