/* What kernelgauge uses of NCCL's C interface, and nothing else.
 *
 * The facts (names, values, signatures) are those of the public header of NCCL 2.32.3. Two
 * readers: bindgen makes cuda/src/nccl/bindings.rs of it (CONTRIBUTING.md, "Use another function
 * of NCCL"), and tests/nccl/agree.c includes it after NCCL's own header. There every value
 * becomes an assertion and every function a second declaration, which a C compiler refuses
 * unless it agrees with the first.
 *
 * No other header is needed: not CUDA's, not even the C library's. */
#ifndef KERNELGAUGE_NCCL_H
#define KERNELGAUGE_NCCL_H

#ifndef KERNELGAUGE_BESIDE_NCCL
typedef __SIZE_TYPE__ size_t;
#endif

/* What a call answers. Newer libraries know more: bindgen makes a plain number of it. */
#define KERNELGAUGE_NCCL_RESULTS(VALUE) \
  VALUE(ncclSuccess, 0)                 \
  VALUE(ncclUnhandledCudaError, 1)      \
  VALUE(ncclSystemError, 2)             \
  VALUE(ncclInternalError, 3)           \
  VALUE(ncclInvalidArgument, 4)         \
  VALUE(ncclInvalidUsage, 5)            \
  VALUE(ncclRemoteError, 6)             \
  VALUE(ncclInProgress, 7)              \
  VALUE(ncclTimeout, 8)

#define KERNELGAUGE_NCCL_REDUCTIONS(VALUE) \
  VALUE(ncclSum, 0)                        \
  VALUE(ncclProd, 1)                       \
  VALUE(ncclMax, 2)                        \
  VALUE(ncclMin, 3)                        \
  VALUE(ncclAvg, 4)

#define KERNELGAUGE_NCCL_ELEMENTS(VALUE) \
  VALUE(ncclInt8, 0)                     \
  VALUE(ncclInt32, 2)                    \
  VALUE(ncclInt64, 4)                    \
  VALUE(ncclFloat16, 6)                  \
  VALUE(ncclFloat32, 7)                  \
  VALUE(ncclFloat64, 8)                  \
  VALUE(ncclBfloat16, 9)                 \
  VALUE(ncclFloat8e4m3, 10)

#define KERNELGAUGE_NCCL_UNIQUE_ID_BYTES 128
#define KERNELGAUGE_NCCL_CONFIG_MAGIC 0xcafebeef

/* The configuration as it was when it appeared, in 2.14. It states its size and version, and
 * newer libraries fill in what they have added since. */
#define KERNELGAUGE_NCCL_CONFIG_VERSION 21400
struct kernelgauge_nccl_config {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
};

#ifdef KERNELGAUGE_BESIDE_NCCL

#define KERNELGAUGE_SAME_VALUE(name, value) \
  _Static_assert((int)(name) == (value), #name " is not " #value);
KERNELGAUGE_NCCL_RESULTS(KERNELGAUGE_SAME_VALUE)
KERNELGAUGE_NCCL_REDUCTIONS(KERNELGAUGE_SAME_VALUE)
KERNELGAUGE_NCCL_ELEMENTS(KERNELGAUGE_SAME_VALUE)
KERNELGAUGE_SAME_VALUE(NCCL_UNIQUE_ID_BYTES, KERNELGAUGE_NCCL_UNIQUE_ID_BYTES)
_Static_assert(NCCL_API_MAGIC == KERNELGAUGE_NCCL_CONFIG_MAGIC, "another magic number");

/* An enumeration crosses the border as a number without a sign, of four bytes. */
#define KERNELGAUGE_PLAIN_NUMBER(type) \
  _Static_assert(sizeof(type) == 4 && (type)-1 > 0, #type " is no unsigned number of 4 bytes");
KERNELGAUGE_PLAIN_NUMBER(ncclResult_t)
KERNELGAUGE_PLAIN_NUMBER(ncclRedOp_t)
KERNELGAUGE_PLAIN_NUMBER(ncclDataType_t)
_Static_assert(sizeof(ncclUniqueId) == KERNELGAUGE_NCCL_UNIQUE_ID_BYTES, "ids of another size");
_Static_assert(_Alignof(ncclUniqueId) == 1, "ids of another alignment");

#define KERNELGAUGE_SAME_FIELD(field)                                                            \
  _Static_assert(__builtin_offsetof(ncclConfig_t, field) ==                                      \
                     __builtin_offsetof(struct kernelgauge_nccl_config, field),                  \
                 #field " of the configuration lies elsewhere");                                 \
  _Static_assert(                                                                                \
      __builtin_types_compatible_p(__typeof__(((ncclConfig_t *)0)->field),                       \
                                   __typeof__(((struct kernelgauge_nccl_config *)0)->field)),    \
      #field " of the configuration has another type");
KERNELGAUGE_SAME_FIELD(size)
KERNELGAUGE_SAME_FIELD(magic)
KERNELGAUGE_SAME_FIELD(version)
KERNELGAUGE_SAME_FIELD(blocking)

#else

#define KERNELGAUGE_ENUMERATOR(name, value) name = value,
typedef enum { KERNELGAUGE_NCCL_RESULTS(KERNELGAUGE_ENUMERATOR) } ncclResult_t;
typedef enum { KERNELGAUGE_NCCL_REDUCTIONS(KERNELGAUGE_ENUMERATOR) } ncclRedOp_t;
typedef enum { KERNELGAUGE_NCCL_ELEMENTS(KERNELGAUGE_ENUMERATOR) } ncclDataType_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct ncclComm *ncclComm_t;
typedef struct { char internal[KERNELGAUGE_NCCL_UNIQUE_ID_BYTES]; } ncclUniqueId;
typedef struct kernelgauge_nccl_config ncclConfig_t;

#endif

/* The library itself. */
ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);

/* Communicators. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

/* Calls that belong together. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/* Collectives. */
ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count,
                        ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream);
ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count,
                        ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);

#endif
