/*
  Counts what a program allocates on devices by CUDA's runtime library, and prints the peak when it ends:

    LD_PRELOAD=devicebytes.so program ...

  It stands between the program and a shared libcudart. Memory that the driver takes for itself is not counted.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  void  *p;
  size_t size;
} Block;

static Block          *blocks;
static size_t          nblocks, capacity, now, peak;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void Add(void *p, size_t size)
{
  pthread_mutex_lock(&lock);
  if (nblocks == capacity) {
    capacity = 2 * capacity + 64;
    blocks   = realloc(blocks, capacity * sizeof(*blocks));
    if (!blocks) abort();
  }
  blocks[nblocks++] = (Block){p, size};
  now += size;
  if (now > peak) peak = now;
  pthread_mutex_unlock(&lock);
}

static void Remove(const void *p)
{
  pthread_mutex_lock(&lock);
  for (size_t b = nblocks; b-- > 0;) {
    if (blocks[b].p != p) continue;
    now -= blocks[b].size;
    blocks[b] = blocks[--nblocks];
    break;
  }
  pthread_mutex_unlock(&lock);
}

/* The functions of libcudart, with the types of a program that does not include its headers; 0 is success */
#define NEXT(name) \
  if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, #name)

int cudaMalloc(void **p, size_t size);
int cudaMallocAsync(void **p, size_t size, void *stream);
int cudaMallocFromPoolAsync(void **p, size_t size, void *pool, void *stream);
int cudaFree(void *p);
int cudaFreeAsync(void *p, void *stream);

int cudaMalloc(void **p, size_t size)
{
  static int (*next)(void **, size_t);
  int error;

  NEXT(cudaMalloc);
  error = next(p, size);
  if (!error) Add(*p, size);
  return error;
}

int cudaMallocAsync(void **p, size_t size, void *stream)
{
  static int (*next)(void **, size_t, void *);
  int error;

  NEXT(cudaMallocAsync);
  error = next(p, size, stream);
  if (!error) Add(*p, size);
  return error;
}

int cudaMallocFromPoolAsync(void **p, size_t size, void *pool, void *stream)
{
  static int (*next)(void **, size_t, void *, void *);
  int error;

  NEXT(cudaMallocFromPoolAsync);
  error = next(p, size, pool, stream);
  if (!error) Add(*p, size);
  return error;
}

int cudaFree(void *p)
{
  static int (*next)(void *);

  NEXT(cudaFree);
  Remove(p);
  return next(p);
}

int cudaFreeAsync(void *p, void *stream)
{
  static int (*next)(void *, void *);

  NEXT(cudaFreeAsync);
  Remove(p);
  return next(p, stream);
}

static __attribute__((destructor)) void Print(void)
{
  fprintf(stderr, "devicebytes: %zu at the peak, %zu at the end\n", peak, now);
}
