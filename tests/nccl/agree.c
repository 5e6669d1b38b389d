/* Compiles only if cuda/nccl/kernelgauge_nccl.h agrees with NCCL's own header. */
#include <nccl.h>

#define KERNELGAUGE_BESIDE_NCCL
#include "kernelgauge_nccl.h"
