#pragma once

/* Two copies in the balanced layout, one for each product: balanced.h says what it takes as tuning, of which the orientation is its own */
#include "mat/impls/aijderived/format.h"

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatTwoCopies;
#endif
