#pragma once

/* The layout csrc (Aliaga, Anzt, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2023, e7871, section 2) on a CUDA device */
#include "mat/impls/aijderived/format.h"

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatCSRC256;
#endif
