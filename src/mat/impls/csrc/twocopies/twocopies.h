#pragma once

/*
  Two copies in the balanced layout, one for each product. AIJPurpose.tuning is as for the balanced layout (balanced.h); its orientation is
  ignored.
*/
#include "mat/impls/aijderived/format.h"

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatTwoCopies;
#endif
