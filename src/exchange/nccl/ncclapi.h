#pragma once

/*
  The part of NCCL that is used here, declared under other names: NCCL's header is then not needed to build, nor its library to run. These
  functions, types and numbers are the same in every NCCL from 2.7, the first with sends and receives, to the last with major version 2,
  the one in the library's name libnccl.so.2.
*/
#include <cuda_runtime_api.h>

#define NCCL_LIBRARY       "libnccl.so.2"
#define NCCL_MINIMUM       2700 /* 2.7.0, in the coding of versions before 2.9; later ones: 10000 major + 100 minor + patch */
#define NCCL_MAJOR_MAXIMUM 30000

typedef struct ncclComm *NCCLComm;

typedef struct {
  char internal[128];
} NCCLUniqueId;

typedef enum {
  NCCL_SUCCESS = 0 /* anything else is an error */
} NCCLResult;

typedef enum {
  NCCL_FLOAT32 = 7,
  NCCL_FLOAT64 = 8
} NCCLDataType;

typedef enum {
  NCCL_SUM = 0
} NCCLOp;

typedef struct {
  NCCLResult (*GetVersion)(int *version);
  const char *(*GetErrorString)(NCCLResult result);
  NCCLResult (*GetUniqueId)(NCCLUniqueId *id);
  NCCLResult (*CommInitRank)(NCCLComm *comm, int size, NCCLUniqueId id, int rank);
  NCCLResult (*CommDestroy)(NCCLComm comm);
  NCCLResult (*GroupStart)(void);
  NCCLResult (*GroupEnd)(void);
  NCCLResult (*Send)(const void *buffer, size_t count, NCCLDataType type, int to, NCCLComm comm, cudaStream_t stream);
  NCCLResult (*Recv)(void *buffer, size_t count, NCCLDataType type, int from, NCCLComm comm, cudaStream_t stream);
  NCCLResult (*AllGather)(const void *own, void *all, size_t count, NCCLDataType type, NCCLComm comm, cudaStream_t stream);
  NCCLResult (*ReduceScatter)(const void *all, void *own, size_t count, NCCLDataType type, NCCLOp op, NCCLComm comm, cudaStream_t stream);
  NCCLResult (*AllReduce)(const void *from, void *to, size_t count, NCCLDataType type, NCCLOp op, NCCLComm comm, cudaStream_t stream);
} NCCLFunctions;
