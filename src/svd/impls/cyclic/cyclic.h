#pragma once

#include <slepcsvd.h>

PETSC_INTERN PetscErrorCode SVDCreate_Cyclic_AIJDerived(SVD);
