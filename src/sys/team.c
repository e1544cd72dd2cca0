/*
  How the threads of OpenMP's team begin, and how they wait.

  The system may start threads on the core of the thread that starts them, and takes some 20 ms to move them; until then each region takes as long as
  threads wait for one core (C61). So threads that begin there leave at once.

  Between regions libgomp's threads wait by spinning, for some milliseconds, and keep their cores from others: from OpenBLAS's threads, for which a
  solver's next dot product waits, so that whole programs took up to eight times as long as with AIJ, and from other programs (C60). OMP_WAIT_POLICY
  would help, but is read before the program begins. libgomp spins for a microsecond only if it has started more threads than there are cores. So a
  thread is started whose own team counts; all of them sleep.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE
#endif
#include "threads.h"
#include "openblas.h"
#if defined(__linux__)
  #include <sched.h>
  #include <time.h>
#endif
#if defined(_OPENMP)
  #include <omp.h>
  #include <pthread.h>

/* The thread whose team only counts. Threads of a program may store matrices at the same time: one of them starts it, and the others wait. */
static struct {
  pthread_mutex_t starting; /* protects `started` and `told`; taken before the other mutex */
  PetscBool       started, told;
  int             nteam;
  PetscBool       counted, end; /* protected by the mutex */
  pthread_t       thread;
  pthread_mutex_t mutex;
  pthread_cond_t  changed;
} Sleeper = {.starting = PTHREAD_MUTEX_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *Sleep(void *unused)
{
  (void)unused;
  PetscPragmaOMP(parallel num_threads(Sleeper.nteam))
  {
    (void)omp_get_thread_num();
  }
  (void)pthread_mutex_lock(&Sleeper.mutex);
  Sleeper.counted = PETSC_TRUE;
  (void)pthread_cond_signal(&Sleeper.changed);
  while (!Sleeper.end) (void)pthread_cond_wait(&Sleeper.changed, &Sleeper.mutex);
  (void)pthread_mutex_unlock(&Sleeper.mutex);
  return NULL; /* its team ends with it */
}

/* A process that fork() makes has none of its parent's threads */
static void Forked(void)
{
  Sleeper.started = PETSC_FALSE;
  (void)pthread_mutex_init(&Sleeper.starting, NULL); /* another thread may have had it */
}

/* Whether this call has started the thread */
static PetscBool Start(int nteam)
{
  PetscBool isnew = PETSC_FALSE;

  (void)pthread_mutex_lock(&Sleeper.starting);
  if (!Sleeper.started) {
    Sleeper.nteam   = nteam;
    Sleeper.counted = Sleeper.end = PETSC_FALSE;
    if (!pthread_create(&Sleeper.thread, NULL, Sleep, NULL)) Sleeper.started = isnew = PETSC_TRUE; /* otherwise all waits as it would without */
    if (isnew && !Sleeper.told) (void)pthread_atfork(NULL, NULL, Forked);                          /* once; the C library forgets it when this library is unloaded */
    if (isnew) Sleeper.told = PETSC_TRUE;
    (void)pthread_mutex_lock(&Sleeper.mutex);
    while (isnew && !Sleeper.counted) (void)pthread_cond_wait(&Sleeper.changed, &Sleeper.mutex);
    (void)pthread_mutex_unlock(&Sleeper.mutex);
  }
  (void)pthread_mutex_unlock(&Sleeper.starting);
  return isnew;
}
#endif

PetscErrorCode PetscCSRCThreadsSpread(int n)
{
  PetscFunctionBegin;
#if defined(_OPENMP) && defined(__linux__)
  static int spread = 0;
  const int  first  = sched_getcpu();

  if (n < 2 || __atomic_exchange_n(&spread, 1, __ATOMIC_ACQ_REL)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscPragmaOMP(parallel num_threads(n))
  {
    int left = omp_get_thread_num();

    if (!left) {
      const struct timespec others_begin = {0, 50000};

      (void)nanosleep(&others_begin, NULL);
    } else if (sched_getcpu() == first) {
      cpu_set_t mine, one;
      int       core = -1;

      if (!sched_getaffinity(0, sizeof(mine), &mine)) {
        for (int c = 0; c < CPU_SETSIZE && left; c++) {
          if (c == first || !CPU_ISSET(c, &mine)) continue;
          core = c;
          left--;
        }
      }
      if (core >= 0) { /* to be allowed on one core only moves a thread there at once */
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
        (void)sched_setaffinity(0, sizeof(mine), &mine);
      }
    }
  }
#else
  (void)n;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCThreadsYield(int n, PetscBool busy)
{
  PetscFunctionBegin;
#if defined(_OPENMP)
  int cores;

  if (n < 2 || getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) PetscFunctionReturn(PETSC_SUCCESS);
  cores = omp_get_num_procs();
  if (cores > 2 * n) PetscFunctionReturn(PETSC_SUCCESS); /* there are other cores, and the team that counts would be large */
  if (!busy) {
    if (!openblas_get_num_threads || !openblas_get_parallel || openblas_get_parallel() != 1) PetscFunctionReturn(PETSC_SUCCESS);
    if (openblas_get_num_threads() < 2 || openblas_get_num_threads() + n - 1 <= cores) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (Start(PetscMax(0, cores - n) + 2)) PetscCall(PetscInfo(NULL, "OpenMP's threads sleep between products, since %s for %d cores\n", busy ? "other threads wait" : "OpenBLAS has threads", cores));
#else
  (void)n;
  (void)busy;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCThreadsFinalize(void)
{
  PetscFunctionBegin;
#if defined(_OPENMP)
  if (!Sleeper.started) PetscFunctionReturn(PETSC_SUCCESS);
  (void)pthread_mutex_lock(&Sleeper.mutex);
  Sleeper.end = PETSC_TRUE;
  (void)pthread_cond_signal(&Sleeper.changed);
  (void)pthread_mutex_unlock(&Sleeper.mutex);
  (void)pthread_join(Sleeper.thread, NULL);
  Sleeper.started = PETSC_FALSE;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
