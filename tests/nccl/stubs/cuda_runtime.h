/* As much of CUDA's runtime header as nccl.h needs to be read without CUDA. */
#ifndef KERNELGAUGE_STUB_CUDA_RUNTIME_H
#define KERNELGAUGE_STUB_CUDA_RUNTIME_H

#include <stddef.h>

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

#endif
